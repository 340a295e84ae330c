package chaos

import (
	"testing"
	"time"

	"github.com/chokaq/chokaq/internal/sqlsim"
)

// Workers that are started while the server is down, starting, or recovering their database wait for it, however it refuses them, and then work.
func TestWorkersStartedWhileTheServerComesBack(t *testing.T) {
	t.Parallel()
	r := one(t)
	const jobs = 6
	for range jobs {
		r.add(behavior{Ms: 50})
	}
	if err := r.sim.Restart(func(sqlsim.Phase) {
		w := r.startWorker()
		r.eventually("it has met the server as it is", func() bool { return r.logged(w, "database.away") > 0 })
		r.pause(300 * time.Millisecond) // and all of them meet the next phase, too
	}); err != nil {
		t.Fatal(err)
	}
	r.eventually("every job is archived", func() bool { return r.number("SELECT COUNT(*) FROM chokaq.JobsArchive") == jobs })
	for _, w := range r.workers {
		if r.eventually("it is back", func() bool { return r.logged(w, "database.back") > 0 }); !w.running() {
			t.Errorf("worker %s has ended", w.id)
		}
		w.terminate()
		r.awaitEnd(w)
	}
	r.check()
	r.leftovers()
}
