package tds

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chokaq/chokaq/internal/sqlsim/engine"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// TestFreeTDS talks to the server with another implementation of the protocol, in all
// its versions, where it is installed (Debian's freetds-bin).
func TestFreeTDS(t *testing.T) {
	if _, err := exec.LookPath("bsqldb"); err != nil {
		t.Skip("FreeTDS is not installed")
	}
	ticks := int64(738_000)*value.TicksPerDay + 3*value.TicksPerHour
	b := &scripted{}
	cols := []engine.Column{
		{Name: "n", Type: value.Type{Kind: value.Int}, Nullable: true},
		{Name: "s", Type: value.Type{Kind: value.NVarChar, Length: 20}, Nullable: true},
		{Name: "x", Type: value.Type{Kind: value.Decimal, Precision: 10, Scale: 2}, Nullable: true},
		// bsqldb cannot print those that follow.
		{Name: "m", Type: value.Type{Kind: value.NVarChar, Length: value.Max}, Nullable: true},
		{Name: "b", Type: value.Type{Kind: value.VarBinary, Length: value.Max}, Nullable: true},
		{Name: "d", Type: value.Type{Kind: value.DateTime2, Scale: 3}, Nullable: true},
	}
	row := []value.Value{
		value.NewInt(value.Int, 42), value.NewString(value.NVarChar, "short"), value.NewDecimalInt(-12345, 2),
		value.NewString(value.NVarChar, strings.Repeat("long", 2000)), value.NewBinary(value.VarBinary, []byte{0xCA, 0xFE}), value.NewDateTime2(ticks, 3),
	}
	nulls := make([]value.Value, len(cols))
	for i, c := range cols {
		nulls[i] = value.NewNull(c.Type.Kind)
	}
	b.batch = func(_ context.Context, _ *scriptedSession, sql string, sink engine.Sink) error {
		n := 3
		switch {
		case strings.HasPrefix(sql, "use "):
			sink.DatabaseChanged("chokaq", "other")
			return sink.Message(value.NewError(5701, 0, 2, "Changed database context to 'other'."))
		case strings.Contains(sql, "all"):
			n = len(cols)
			fallthrough
		case strings.Contains(sql, "answer"):
			sink.Columns(cols[:n])
			sink.Row(row[:n])
			sink.Row(nulls[:n])
			return sink.Done(engine.CommandSelect, 2, true)
		case strings.Contains(sql, "fail"):
			sink.Message(value.NewError(50001, 16, 3, "no such luck"))
		}
		return sink.Done(engine.CommandOther, 0, false)
	}
	_, addr := start(t, b, Options{})
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, ver := range []string{"7.1", "7.2", "7.3", "7.4"} {
		for _, encryption := range []string{"off", "request", "require"} {
			t.Run(ver+" "+encryption, func(t *testing.T) {
				conf := filepath.Join(t.TempDir(), "freetds.conf")
				text := fmt.Sprintf("[sim]\nhost = %s\nport = %s\ntds version = %s\nencryption = %s\nclient charset = UTF-8\ntext size = 100000\n", host, port, ver, encryption)
				if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				run := func(input string) string {
					cmd := exec.Command("bsqldb", "-S", "sim", "-U", "sa", "-P", "Sesame1!", "-D", "chokaq")
					cmd.Env = append(os.Environ(), "FREETDSCONF="+conf)
					cmd.Stdin = strings.NewReader(input)
					out, _ := cmd.CombinedOutput()
					return string(out)
				}
				out := run("select answer\ngo\n")
				for _, want := range []string{"42", "short", "-123.45", "NULL"} {
					if !strings.Contains(out, want) {
						t.Errorf("%q is missing in:\n%s", want, out)
					}
				}
				if out := run("fail\ngo\n"); !strings.Contains(out, "no such luck") || !strings.Contains(out, "50001") {
					t.Errorf("an error came as:\n%s", out)
				}
				cmd := exec.Command("tsql", "-S", "sim", "-U", "sa", "-P", "Sesame1!")
				cmd.Env = append(os.Environ(), "FREETDSCONF="+conf)
				cmd.Stdin = strings.NewReader("use other\ngo\nselect all\ngo\nexit\n")
				printed, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("tsql: %v", err)
				}
				for _, want := range []string{"42", "short", "-123.45", strings.Repeat("long", 2000), "2021", "(2 rows affected)"} {
					if !strings.Contains(string(printed), want) {
						t.Errorf("tsql: %q is missing in:\n%.3000s", want, printed)
					}
				}
				if !strings.Contains(strings.ToUpper(string(printed)), "CAFE") {
					t.Errorf("tsql: the binary value is missing in:\n%.3000s", printed)
				}
			})
		}
	}
}
