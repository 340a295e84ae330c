package demo

import (
	"strings"
	"testing"
)

func TestReconcile(t *testing.T) {
	archived, requeued := account{archived: true}, account{archived: true, requeued: 1}
	for name, c := range map[string]struct {
		accounts map[int64]account
		runs     map[int64]int
		want     books // of two jobs, 1 and 2
		wrong    string
	}{
		"all once":                         {map[int64]account{1: archived, 2: archived}, map[int64]int{1: 1, 2: 1}, books{files: 2, done: 2, once: 2}, ""},
		"ran again after a decision":       {map[int64]account{1: requeued, 2: archived}, map[int64]int{1: 2, 2: 1}, books{files: 2, done: 2, once: 1, decided: 1}, ""},
		"requeued before it had an effect": {map[int64]account{1: requeued, 2: archived}, map[int64]int{1: 1, 2: 1}, books{files: 2, done: 2, once: 2}, ""},
		"ran twice, undecided":             {map[int64]account{1: archived, 2: archived}, map[int64]int{1: 2, 2: 1}, books{files: 2, done: 2, once: 1, undecided: 1}, "1 jobs ran twice"},
		"ran more often than decided":      {map[int64]account{1: requeued, 2: archived}, map[int64]int{1: 3, 2: 1}, books{files: 2, done: 2, once: 1, undecided: 1}, "1 jobs ran twice"},
		"nowhere":                          {map[int64]account{2: archived}, map[int64]int{1: 1, 2: 1}, books{files: 2, done: 1, once: 2, lost: 1}, "1 jobs are lost"},
		"done with no run":                 {map[int64]account{1: archived, 2: archived}, map[int64]int{2: 1}, books{files: 2, done: 2, once: 1, lost: 1}, "1 jobs are lost"},
		"its file had gone":                {map[int64]account{1: {rejected: true}, 2: archived}, map[int64]int{2: 1}, books{files: 2, done: 1, rejected: 1, once: 1}, ""},
		"dead for another reason":          {map[int64]account{1: {}, 2: archived}, map[int64]int{1: 1, 2: 1}, books{files: 2, done: 1, once: 2, lost: 1}, "1 jobs are lost"},
		"a job of nobody":                  {map[int64]account{1: archived, 2: archived}, map[int64]int{1: 1, 2: 1, 3: 1}, books{files: 2, done: 2, once: 2, undecided: 1}, "ran twice"},
	} {
		t.Run(name, func(t *testing.T) {
			got := reconcile([]int64{1, 2}, c.accounts, c.runs)
			if got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
			err := got.check()
			if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
				t.Errorf("%v, want %q", err, c.wrong)
			}
		})
	}
}
