package config

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/chokaq/chokaq/driver"
)

// Whatever is in the environment and on the command line, it is read or it is a fault that names the setting, and the same the next time; and what is
// in the data source name is in no message.
func FuzzEnvironment(f *testing.F) {
	for _, seed := range [][2]string{
		{"CHOKAQ_QUEUES=a, b\nCHOKAQ_HANDLERS=7\nCHOKAQ_HEARTBEAT_INTERVAL=3s\nCHOKAQ_RECOVERY_ENABLED=true", "--handlers\n9\n--handler\nt=/bin/cat a,b"},
		{"CHOKAQ_HANDLER=a=/bin/cat x,y", "--queues=x,y\n--queues\nz\n--recovery-enabled"},
		{"CHOKAQ_HANDLER=a=b\r\n\x00\nCHOKAQ_HANDLERS=1e3", "--prefetch=0x10\n--flush-timeout=9999999h"},
		{"CHOKAQ_QUEUS=a\nCHOKAQ_=\nCHOKAQ_JOB_ID=1\nCHOKAQ_TEST_DSN=x\nchokaq_queues=a\n=\nCHOKAQ_QUEUES", "--log-level=\xff\ufeff"},
		{"CHOKAQ_PREFETCH=-0\nCHOKAQ_COMPLETION_DELAY=0\nCHOKAQ_POLL_INTERVAL_MIN=1µs", "--recovery-enabled=maybe"},
		{"CHOKAQ_QUEUES=,,\nCHOKAQ_QUEUES=שלום \nCHOKAQ_ADMIN_ADDR=${HOME}", "--queues=\xed\xa0\xbd"},
	} {
		f.Add(seed[0], seed[1], "sqlserver://sa:Pa55%word$1@host:1433?database=shop")
	}
	f.Add("", "", "sqlserver://sa:Pa55%zzword@host?database=")
	f.Add("", "", "server=host;password=Pa55word1;database=x;port=y")
	f.Fuzz(func(t *testing.T, environ, args, dsn string) {
		entries := append(strings.Split(environ, "\n"), "CHOKAQ_DSN="+dsn)
		read := func() (Worker, []error) {
			flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
			Bind(flags, &Worker{}, "dsn")
			if err := flags.Parse(strings.Split(args, "\n")); err != nil {
				return Worker{}, []error{err}
			}
			var settings Worker
			return settings, Load(entries, flags, &settings)
		}
		settings, faults := read()
		again, faultsAgain := read()
		if !reflect.DeepEqual(settings, again) || Faults(faults) != nil && Faults(faults).Error() != Faults(faultsAgain).Error() {
			t.Errorf("read once it is %+v, %v, and then %+v, %v", settings, faults, again, faultsAgain)
		}
		for _, fault := range faults {
			if fault.Error() == "" {
				t.Error("a fault says nothing")
			}
		}
		c := Connection{DSN: dsn}
		texts := c.Target()
		if err := c.CheckDSN(); err != nil {
			if !strings.Contains(err.Error(), "CHOKAQ_DSN") || !strings.Contains(err.Error(), dsnForm) {
				t.Errorf("not named, or no accepted form: %v", err)
			}
			texts += err.Error()
		}
		// Somebody who reads the message must not learn the password.
		if _, after, ok := strings.Cut(dsn, "sqlserver://sa:"); ok {
			if password, _, ok := strings.Cut(after, "@"); ok && len(password) > 5 && !strings.Contains("the database "+dsnForm, password) && strings.Contains(texts, password) && !strings.Contains(strings.TrimPrefix(dsn, "sqlserver://sa:"+password), password) {
				t.Errorf("the password is in a message: %s", texts)
			}
		}
		client, err := driver.Open("sqlserver://host?database=d")
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if _, err := driver.NewWorker(client, settings.WorkerConfig, nil); err != nil {
			if !errors.Is(err, driver.ErrConfig) {
				t.Errorf("not a fault of the configuration: %v", err)
			}
			for _, fault := range Translate(err) {
				if fault.Error() == "" {
					t.Error("a fault says nothing")
				}
			}
		}
	})
}
