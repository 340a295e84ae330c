package deploy

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/unit"
)

const unitFile = "systemd/chokaq-worker.service"

// readUnit reads the unit: values by section and name.
func readUnit(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	sections, err := unit.DeserializeSections(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]string)
	for _, s := range sections {
		for _, e := range s.Entries {
			all[s.Section+"."+e.Name] = append(all[s.Section+"."+e.Name], e.Value)
		}
	}
	return all
}

// readEnvironment reads the file of settings as systemd does: NAME=VALUE lines and comments.
func readEnvironment(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	environ := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			t.Fatalf("%s: %q", file, line)
		}
		environ[name] = value
	}
	return environ
}

func TestSystemdWorkerIsConfiguredAndHasTimeToStop(t *testing.T) {
	u := readUnit(t)
	environ := readEnvironment(t, "systemd/worker.env")
	for _, line := range u["Service.Environment"] {
		name, value, _ := strings.Cut(line, "=")
		environ[name] = value
	}
	credential, _, _ := strings.Cut(u["Service.LoadCredential"][0], ":")
	if environ["CHOKAQ_DSN_FILE"] != "%d/"+credential {
		t.Errorf("the data source name is read from %q, and the credential is %q", environ["CHOKAQ_DSN_FILE"], credential)
	}
	dsn := filepath.Join(t.TempDir(), credential)
	if err := os.WriteFile(dsn, []byte("sqlserver://u:p@h?database=d\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	environ["CHOKAQ_DSN_FILE"] = dsn
	if environ["CHOKAQ_HANDLERS_FILE"] != "/etc/chokaq/handlers.yaml" {
		t.Errorf("CHOKAQ_HANDLERS_FILE is %q", environ["CHOKAQ_HANDLERS_FILE"])
	}
	environ["CHOKAQ_HANDLERS_FILE"] = "handlers.example.yaml"
	check(t, environ)
	if stop, err := time.ParseDuration(u["Service.TimeoutStopSec"][0]); err != nil || stop < bound(t, environ) {
		t.Errorf("TimeoutStopSec is %q, and must be at least %v with the settings of worker.env", u["Service.TimeoutStopSec"], bound(t, environ))
	}
}

// What a graceful stop depends on.
func TestSystemdUnit(t *testing.T) {
	u := readUnit(t)
	for name, want := range map[string]string{
		"Service.Type": "notify", "Service.KillMode": "mixed", "Service.KillSignal": "SIGTERM", "Service.ExecStart": "/usr/local/bin/chokaq-worker run",
		"Service.Restart": "on-failure", "Service.RestartPreventExitStatus": "2 4 5", "Service.TimeoutStartSec": "infinity", "Service.OOMPolicy": "continue",
	} {
		if got := u[name]; !slices.Equal(got, []string{want}) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// systemd itself accepts every line of it, and finds it hardened.
func TestSystemdVerifies(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not here: the unit is read, and not verified")
	}
	text, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "chokaq-worker.service")
	if err := os.WriteFile(file, bytes.Replace(text, []byte("/usr/local/bin/chokaq-worker"), []byte(binary), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(analyze, "verify", "--man=no", file).CombinedOutput()
	// It knows the units of this machine, too, and complains about them; ours must not be named.
	if bytes.Contains(out, []byte("chokaq-worker.service")) || err != nil && len(bytes.TrimSpace(out)) == 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	out, err = exec.Command(analyze, "security", "--offline=yes", "--threshold=25", file).CombinedOutput()
	if err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}
