package fault

import (
	"testing"
)

func TestMatching(t *testing.T) {
	for _, tt := range []struct {
		rule Rule
		ev   Event
		want bool
	}{
		{Rule{}, Event{Text: "SELECT 1"}, true},
		{Rule{}, Event{Login: true}, false},
		{Rule{Logins: true}, Event{Login: true}, true},
		{Rule{Procedure: "ClaimJobs"}, Event{Procedure: "[chokaq].[ClaimJobs]"}, true},
		{Rule{Procedure: "chokaq.ClaimJobs"}, Event{Procedure: "claimjobs"}, true},
		{Rule{Procedure: "chokaq.ClaimJobs"}, Event{Procedure: "dbo.ClaimJobs"}, false},
		{Rule{Procedure: "chokaq.ClaimJobs"}, Event{Procedure: "sp_executesql", Text: "EXEC [chokaq].ClaimJobs @n = 1"}, true},
		{Rule{Procedure: "Claim"}, Event{Text: "EXEC chokaq.ClaimJobs; EXEC Claim"}, true},
		{Rule{Procedure: "Claim"}, Event{Text: "EXEC chokaq.ClaimJobs"}, false},
		{Rule{Text: "from jobs"}, Event{Text: "SELECT * FROM Jobs"}, true},
		{Rule{App: "worker"}, Event{App: "other"}, false},
		{Rule{Match: func(e Event) bool { return e.User == "sa" }}, Event{User: "bob"}, false},
	} {
		if got := tt.rule.matches(tt.ev); got != tt.want {
			t.Errorf("%+v matches %+v: %v", tt.rule, tt.ev, got)
		}
	}
}

func TestCounting(t *testing.T) {
	in := New()
	rule := in.Add(Rule{Procedure: "P", Nth: 2, Times: 2, Drop: true})
	var struck []bool
	for range 5 {
		before, after := in.Request(Event{Procedure: "P"})
		struck = append(struck, before != nil)
		if after != nil {
			t.Error("struck afterwards")
		}
	}
	for i, want := range []bool{false, true, true, false, false} {
		if struck[i] != want {
			t.Errorf("call %d: %v, want %v", i+1, struck[i], want)
		}
	}
	if rule.Count() != 2 || in.Injected() != 2 {
		t.Errorf("counted %d and %d", rule.Count(), in.Injected())
	}
}

func TestHold(t *testing.T) {
	in := New()
	rule := in.Add(Rule{Hold: true, When: After})
	_, after := in.Request(Event{Text: "x"})
	done := make(chan error)
	go func() { done <- after.Wait(t.Context()) }()
	if err := rule.WaitHeld(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	rule.Remove()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if before, after := in.Request(Event{Text: "x"}); before != nil || after != nil {
		t.Error("a rule that was removed struck")
	}
}
