package protocol

import "testing"

// A protocol without one of its guards violates the invariant that the guard is for, with the symmetry and without; and every invariant is one that some guard is for.
func TestEveryGuardIsNeeded(t *testing.T) {
	mutants := map[guard]string{
		claimFence:          "CleanStopLeavesNothing",
		startToken:          "OneRunner",
		startState:          "EndsAreFinal",
		alreadyStartedToken: "OneRunner",
		completeToken:       "OutcomeIsItsHolders",
		failToken:           "OutcomeIsItsHolders",
		releaseState:        "ProcessingNeverPending",
		rescueState:         "ProcessingNeverPending",
		resetting:           nothingLost,
		rescuing:            nothingLost,
		requeueState:        "EndsAreFinal",
		startHeard:          "RunsOnlyWhatWasStarted",
		handlerRuns:         "ArchivedOnlyIfItRan",
		completionRepeated:  "NoUndecidedRerun",
		releaseHeard:        "CleanStopLeavesNothing",
	}
	named := make(map[string]bool)
	for g, want := range mutants {
		named[want] = true
		m := model{workers: 2, jobs: 1, claims: 1, decisions: 1, without: g}
		if full {
			m.jobs = 2
		}
		with, without := m.search(m.canonical, nil), m.search(m.encode, nil)
		if with.violated != want || without.violated != want {
			t.Errorf("%s: want %s; with symmetry %v; without %v", g, want, with, without)
		}
	}
	for _, i := range invariants {
		if !named[i.name] {
			t.Errorf("no mutant violates %s", i.name)
		}
	}
}
