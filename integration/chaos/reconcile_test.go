package chaos

import (
	"fmt"
	"slices"
)

// finalState is where a job is at the end of a round.
type finalState struct {
	tables   int // in which it is
	place    string
	reason   string
	attempt  int
	requeues int
}

// violations compares ledger and database.
func violations(enqueued map[int64]behavior, ledger map[int64]*history, states map[int64]finalState) []string {
	var all []string
	say := func(id int64, format string, args ...any) {
		all = append(all, fmt.Sprintf("job %d (%+v): %s; ledger %+v, database %+v", id, enqueued[id], fmt.Sprintf(format, args...), ledger[id], states[id]))
	}
	for id := range ledger {
		if _, ok := enqueued[id]; !ok {
			all = append(all, fmt.Sprintf("job %d ran and was never acknowledged", id))
		}
	}
	for id := range enqueued {
		s, h := states[id], ledger[id]
		if s.tables != 1 {
			say(id, "it is in %d tables", s.tables)
			continue
		}
		if h == nil {
			h = &history{}
		}
		last := run{-1, 0}
		for r, times := range h.began {
			if times > 1 {
				say(id, "attempt %d after %d requeues began %d times: it ran twice undecided", r.attempt, r.requeues, times)
			}
			if r.requeues > last.requeues || r.requeues == last.requeues && r.attempt > last.attempt {
				last = r
			}
		}
		for r := range h.began {
			// An attempt that another one followed in the same life must have failed: nothing else asks for a retry here.
			if next := (run{r.requeues, r.attempt + 1}); h.began[next] > 0 && !slices.Contains(h.ended[r], "failed") {
				say(id, "attempt %d ran although the one before it had not failed", next.attempt)
			}
		}
		switch s.place {
		case "Archived":
			if !slices.Contains(h.ended[last], "done") {
				say(id, "it is archived, and its last run was not done")
			}
		case "Dead":
			done := slices.Contains(h.ended[last], "done")
			if done && s.reason != "Zombie" {
				say(id, "it was done, and is dead for another reason than its worker's death")
			}
			if len(h.ended[last]) == 0 && h.began[last] > 0 && s.reason != "Zombie" {
				say(id, "it was cut off while it ran, and is not a zombie")
			}
			if s.reason == "Failed" && s.attempt < 10 {
				say(id, "it failed with attempts left")
			}
		default:
			say(id, "it is still %s", s.place)
		}
		if last.attempt > s.attempt {
			say(id, "the ledger has more attempts than the database")
		}
	}
	return all
}
