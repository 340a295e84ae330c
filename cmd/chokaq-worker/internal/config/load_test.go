package config

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/chokaq/chokaq/driver"
)

func load(t *testing.T, environ, args []string) (Worker, []error) {
	t.Helper()
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	Bind(flags, &Worker{})
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	var settings Worker
	faults := Load(environ, flags, &settings)
	return settings, faults
}

func TestEnvironmentAndFlags(t *testing.T) {
	settings, faults := load(t,
		[]string{"CHOKAQ_QUEUES=mail, default", "CHOKAQ_HANDLERS=7", "CHOKAQ_HEARTBEAT_INTERVAL=3s", "CHOKAQ_RECOVERY_ENABLED=true", "CHOKAQ_PREFETCH=",
			"CHOKAQ_HANDLER=a=/bin/cat x,y\n\n b=/bin/true \n", "CHOKAQ_JOB_ID=17", "CHOKAQ_TEST_DSN=x", "HOME=/root", "CHOKAQ_LOG_LEVEL=debug"},
		[]string{"--handlers", "9", "--flush-timeout=1m", "--sqlserver-worker-shutdown-grace-period", "90s"})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	want := Worker{
		Logging: Logging{Level: "debug"},
		WorkerConfig: driver.WorkerConfig{
			Queues: []string{"mail", "default"}, Handlers: 9, HeartbeatInterval: 3 * time.Second, RecoveryEnabled: true,
			FlushTimeout: time.Minute, WorkerShutdownGracePeriod: 90 * time.Second,
		},
		Programs: Lines{"a=/bin/cat x,y", "b=/bin/true"},
	}
	if !reflect.DeepEqual(settings, want) {
		t.Errorf("got  %+v\nwant %+v", settings, want)
	}
}

func TestFlagsOfLists(t *testing.T) {
	settings, faults := load(t, []string{"CHOKAQ_QUEUES=other", "CHOKAQ_HANDLER=a=b"},
		[]string{"--queues", "x,y", "--queues", "z", "--handler", "t=p a,b", "--handler", "u=q", "--recovery-enabled"})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if got := strings.Join(settings.Queues, "|"); got != "x|y|z" {
		t.Errorf("queues: %s", got)
	}
	if got := strings.Join(settings.Programs, "|"); got != "t=p a,b|u=q" {
		t.Errorf("programs: %s", got)
	}
	if !settings.RecoveryEnabled {
		t.Error("--recovery-enabled without a value is true")
	}
}

func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		environ, args []string
		want          []string // a piece of each fault, in order
	}{
		"unknown, near":               {environ: []string{"CHOKAQ_HEARTBET_INTERVAL=3s"}, want: []string{"CHOKAQ_HEARTBET_INTERVAL: there is no such setting; did you mean CHOKAQ_HEARTBEAT_INTERVAL?"}},
		"unknown, far":                {environ: []string{"CHOKAQ_FROBNICATE=1"}, want: []string{"CHOKAQ_FROBNICATE: there is no such setting; chokaq-worker run --help lists them"}},
		"unknown and empty":           {environ: []string{"CHOKAQ_QUEUE="}, want: []string{"did you mean CHOKAQ_QUEUES?"}},
		"number as a duration":        {environ: []string{"CHOKAQ_FLUSH_TIMEOUT=5"}, want: []string{`CHOKAQ_FLUSH_TIMEOUT (--flush-timeout): "5" is not accepted; accepted: a Go duration such as 500ms, 30s or 5m`}},
		"not a number":                {args: []string{"--handlers", "many"}, want: []string{`CHOKAQ_HANDLERS (--handlers): "many" is not accepted; accepted: a whole number`}},
		"zero":                        {args: []string{"--prefetch", "0"}, want: []string{"above zero (leave it out for the default)"}},
		"not a truth value":           {args: []string{"--recovery-enabled=perhaps"}, want: []string{"accepted: true or false"}},
		"one for the other":           {environ: []string{"CHOKAQ_HANDLERS=mail=/bin/mailer"}, want: []string{"programs are named by CHOKAQ_HANDLER, --handler"}},
		"the flag hides the variable": {environ: []string{"CHOKAQ_HANDLERS=many"}, args: []string{"--handlers", "3"}},
		"several at once": {
			environ: []string{"CHOKAQ_HANDLERS=x", "CHOKAQ_FLUSH_TIMEOUT=y", "CHOKAQ_LOGLEVEL=info"}, args: []string{"--purge-interval", "z"},
			want: []string{"CHOKAQ_LOG_LEVEL?", "CHOKAQ_HANDLERS", "CHOKAQ_FLUSH_TIMEOUT", "CHOKAQ_PURGE_INTERVAL"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, faults := load(t, c.environ, c.args)
			if len(faults) != len(c.want) {
				t.Fatalf("%d faults, want %d: %v", len(faults), len(c.want), faults)
			}
			for i, want := range c.want {
				if !strings.Contains(faults[i].Error(), want) {
					t.Errorf("fault %d is %q, want %q in it", i, faults[i], want)
				}
			}
		})
	}
}

func TestDriversFaultsAreNamedBySetting(t *testing.T) {
	client, err := driver.Open("sqlserver://localhost?database=x")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, err = driver.NewWorker(client, driver.WorkerConfig{Handlers: 50000, FlushTimeout: -1, Queues: []string{" x"}}, nil)
	if !errors.Is(err, driver.ErrConfig) {
		t.Fatal(err)
	}
	text := Faults(Translate(err)).Error()
	for _, want := range []string{"\n  CHOKAQ_HANDLERS (--handlers): must be 1 to 10000, and is 50000", "\n  CHOKAQ_FLUSH_TIMEOUT (--flush-timeout): must be", "\n  CHOKAQ_QUEUES (--queues): "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
}

func TestDSNIsNeverRepeated(t *testing.T) {
	for _, dsn := range []string{"sqlserver://sa:hunter2%zz@h?database=d", "sqlserver://sa:hunter2@h", "server=h;port=hunter2", ""} {
		err := Connection{DSN: dsn}.CheckDSN()
		if err == nil {
			t.Errorf("%q is accepted", dsn)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "CHOKAQ_DSN (--dsn)") || !strings.Contains(err.Error(), dsnForm) {
			t.Errorf("%q: %v", dsn, err)
		}
	}
	for parameter, want := range map[string]string{"encrypt=hunter2": `"encrypt"`, "TrustServerCertificate=hunter2": `"trust server certificate"`, "dial+timeout=hunter2": `"dial timeout"`} {
		err := Connection{DSN: "sqlserver://sa:x@h?database=d&" + parameter}.CheckDSN()
		if err == nil || !strings.Contains(err.Error(), "the value of "+want+" in it is not accepted") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", parameter, err)
		}
	}
	good := Connection{DSN: "sqlserver://sa:hunter2@h:1444?database=d"}
	if err := good.CheckDSN(); err != nil {
		t.Error(err)
	}
	if got := good.Target(); got != `database "d" on h:1444` {
		t.Error(got)
	}
}

func TestEverySettingIsDescribed(t *testing.T) {
	seen := make(map[string]bool)
	for _, s := range settingsOf(&Worker{}) {
		if s.help() == "" {
			t.Errorf("%s has no help", s)
		}
		if seen[s.name] {
			t.Errorf("%s is there twice", s)
		}
		seen[s.name] = true
	}
}
