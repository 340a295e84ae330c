package sqlsim

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFreeTDS runs a script with FreeTDS's tools, where they are installed (Debian's freetds-bin).
func TestFreeTDS(t *testing.T) {
	if _, err := exec.LookPath("bsqldb"); err != nil {
		t.Skip("FreeTDS is not installed")
	}
	s, _ := start(t, Options{Password: "Sesame1!"})
	host, port, err := net.SplitHostPort(s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"7.1", "7.4"} {
		conf := filepath.Join(t.TempDir(), "freetds.conf")
		text := fmt.Sprintf("[sim]\nhost = %s\nport = %s\ntds version = %s\nclient charset = UTF-8\ntext size = 100000\n", host, port, version)
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		run := func(input, name string, args ...string) string {
			cmd := exec.Command(name, append([]string{"-S", "sim", "-U", "sa", "-P", "Sesame1!"}, args...)...)
			cmd.Env = append(os.Environ(), "FREETDSCONF="+conf)
			cmd.Stdin = strings.NewReader(input)
			out, _ := cmd.CombinedOutput()
			return string(out)
		}
		table := "dbo.T" + strings.ReplaceAll(version, ".", "")
		script := "create table " + table + " (id int primary key, name nvarchar(30))\ngo\n" +
			"insert " + table + " values (1, N'one'), (2, N'zwei')\ngo\n" +
			"use tempdb\ngo\nuse master\ngo\nset textsize 50000\ngo\n" +
			"select id, name from " + table + " order by id desc\ngo\n" +
			"print 'the end'\ngo\ninsert " + table + " values (1, N'again')\ngo\n" // bsqldb stops at an error
		for _, tool := range []string{"bsqldb", "tsql"} {
			if tool == "tsql" {
				script = "drop table " + table + "\ngo\n" + script
			}
			out := run(script, tool)
			for _, want := range []string{"one", "zwei", "2627", "the end"} {
				if !strings.Contains(out, want) {
					t.Errorf("%s, version %s: %q is missing in:\n%s", tool, version, want, out)
				}
			}
		}
	}
}
