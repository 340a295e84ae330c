package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

func nvarchar(s string) (value.Type, value.Value) {
	return value.Type{Kind: value.NVarChar, Length: 4000}, value.NewString(value.NVarChar, s)
}

func textParam(name, s string) Param {
	typ, v := nvarchar(s)
	return Param{Name: name, Type: typ, Value: v}
}

func intParam(name string, n int64) Param {
	return Param{Name: name, Type: intType, Value: intValue(n)}
}

// callRecorder also writes down the return status.
type callRecorder struct{ recorder }

func (r *callRecorder) Return(n int32) error { return r.add("return %d", n) }

func TestCalls(t *testing.T) {
	cases := []struct {
		name  string
		calls []Call
		want  string
	}{
		{"procedure", []Call{{Procedure: "dbo.p", Params: []Param{intParam("@a", 4), {Name: "@b", Type: intType, Value: value.NewNull(value.Int), Output: true}}}}, "4|return 7|output @b = 8"},
		{"by position", []Call{{Procedure: "[p]", Params: []Param{intParam("", 5)}}}, "5|return 7"},
		{"default", []Call{{Procedure: "p", Params: []Param{{Name: "@a", Default: true}}}}, "error 201,16,4 line 1: Procedure or function 'p' expects parameter '@a', which was not supplied.|return -6"},
		{"unknown", []Call{{Procedure: "nope"}}, "error 2812,16,62 line 1: Could not find stored procedure 'nope'.|return -6"},
		{"sp_executesql", []Call{{Procedure: "sp_executesql", Params: []Param{textParam("", "SELECT @x; SET @y = @x + 1"), textParam("", "@x int, @y int OUTPUT"), intParam("@x", 1), {Name: "@y", Type: intType, Value: value.NewNull(value.Int), Output: true}}}}, "1|return 0|output @y = 2"},
		{"prepared", []Call{
			{Procedure: "sp_prepexec", Params: []Param{{Name: "", Type: intType, Value: value.NewNull(value.Int), Output: true}, textParam("", "@x int"), textParam("", "SELECT @x * 2"), intParam("", 3)}},
			{Procedure: "sp_execute", Params: []Param{intParam("", 1), intParam("", 5)}},
			{Procedure: "sp_unprepare", Params: []Param{intParam("", 1)}},
			{Procedure: "sp_execute", Params: []Param{intParam("", 1), intParam("", 5)}},
		}, "6|return 0|output  = 1|10|return 0|return 0|error 8179,16,2 line 1: Could not find prepared statement with handle 1.|return -6"},
		{"a mistake in the text", []Call{{Procedure: "sp_executesql", Params: []Param{textParam("", "SELECT 1; SELEC 2 x y")}}}, "error 102,15,1 line 1: Incorrect syntax near 'SELEC'.|return -6"},
		{"an error of a statement", []Call{{Procedure: "sp_executesql", Params: []Param{textParam("", "SELECT 1/0; SELECT 2")}}}, "error 8134,16,1 line 1: Divide by zero error encountered.|2|return 0"},
		{"settings end with the call", []Call{
			{Procedure: "sp_executesql", Params: []Param{textParam("", "SET LOCK_TIMEOUT 5; SELECT @@LOCK_TIMEOUT")}},
			{Procedure: "sp_executesql", Params: []Param{textParam("", "SELECT @@LOCK_TIMEOUT")}},
		}, "5|return 0|-1|return 0"},
		{"refused", []Call{{Procedure: "sp_describe_first_result_set"}}, "error 40510,16,1 line 1: sqlsim does not support the system procedure sp_describe_first_result_set."},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, _ := newFakeSession()
			s.runScript(t, "CREATE PROCEDURE p @a int, @b int = NULL OUTPUT AS SELECT @a; SET @b = @a * 2; RETURN 7")
			r := &callRecorder{}
			for _, call := range c.calls {
				if err := s.Call(t.Context(), call, r); err != nil {
					t.Fatal(err)
				}
			}
			if got := strings.Join(r.lines, "|"); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// cancelOnPrint cancels the request when it prints.
type cancelOnPrint struct {
	*recorder
	cancel func()
}

func (c cancelOnPrint) Message(e *value.Error) error {
	c.cancel()
	return nil
}

func TestAttentionEndsTheRequestOnly(t *testing.T) {
	for _, abort := range []string{"ON", "OFF"} {
		s, b := newFakeSession()
		ctx, cancel := context.WithCancel(t.Context())
		err := s.Batch(ctx, "SET XACT_ABORT "+abort+"; BEGIN TRAN; INSERT INTO log VALUES ('a'); PRINT 'now'; WHILE 1 = 1 SET NOCOUNT ON", cancelOnPrint{&recorder{}, cancel})
		if err != context.Canceled {
			t.Fatalf("XACT_ABORT %s: %v", abort, err)
		}
		want := "1"
		if abort == "ON" {
			want = "0"
		}
		if got := strings.Join(s.runScript(t, "SELECT @@TRANCOUNT"), "|"); got != want {
			t.Errorf("XACT_ABORT %s: @@TRANCOUNT is %s, want %s", abort, got, want)
		}
		if (len(b.log) == 0) != (abort == "ON") {
			t.Errorf("XACT_ABORT %s: log is %v", abort, b.log)
		}
	}
}

func TestResetMakesTheSessionNew(t *testing.T) {
	s, b := newFakeSession()
	s.runScript(t, "SET NOCOUNT ON; SET LOCK_TIMEOUT 7; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; EXEC sp_set_session_context N'k', 1; BEGIN TRAN; INSERT INTO log VALUES ('a')")
	s.Reset(false)
	got := strings.Join(s.runScript(t, "SELECT @@LOCK_TIMEOUT, @@TRANCOUNT, SESSION_CONTEXT(N'k'), @@OPTIONS & 512"), "|")
	if got != "-1, 0, NULL, 0" {
		t.Errorf("after Reset: %s", got)
	}
	if s.settings.isolation != readCommitted || len(b.log) != 0 {
		t.Errorf("isolation %d, log %v", s.settings.isolation, b.log)
	}
	s.runScript(t, "BEGIN TRAN; SET NOCOUNT ON")
	s.Reset(true)
	if got := strings.Join(s.runScript(t, "SELECT @@TRANCOUNT, @@OPTIONS & 512"), "|"); got != "1, 0" {
		t.Errorf("after Reset that keeps the transaction: %s", got)
	}
}

func TestWaitForWaitsOnTheClock(t *testing.T) {
	s, _ := newFakeSession()
	manual := s.clk.(interface {
		Advance(time.Duration)
		BlockUntil(context.Context, int) error
	})
	done := make(chan []string)
	go func() {
		r := &recorder{}
		_ = s.Batch(context.Background(), "WAITFOR DELAY '00:01:00'; SELECT DATEDIFF(SECOND, '2024-02-29 13:14:15', SYSUTCDATETIME())", r)
		done <- r.lines
	}()
	if err := manual.BlockUntil(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	manual.Advance(time.Minute)
	if got := strings.Join(<-done, "|"); got != "60" {
		t.Errorf("got %s", got)
	}
}
