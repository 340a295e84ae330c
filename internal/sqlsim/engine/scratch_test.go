package engine

import (
	"os"
	"path/filepath"
	"testing"
)

func TestScratchInstall(t *testing.T) {
	srv := newTestServer(t)
	s := srv.connect("q")
	run(t, s, "CREATE SCHEMA chokaq")
	b, _ := os.ReadFile("../../../db/migrations/000001_init.up.sql")
	run(t, s, string(b))
	for _, dir := range []string{"functions", "procedures", "views", "grants"} {
		files, _ := filepath.Glob("../../../db/" + dir + "/*.sql")
		for _, f := range files {
			b, _ := os.ReadFile(f)
			r, err := attempt(s, string(b))
			if err != nil {
				t.Errorf("%s: %v", f, err)
			}
			for _, e := range r.errors {
				t.Errorf("%s: %v line %d", f, e, e.Line)
			}
		}
	}
	if t.Failed() {
		return
	}
	r := run(t, s, `EXEC chokaq.EnqueueJob @Queue = N'mail', @JobType = N'x', @Payload = N'{}'`)
	t.Log(r.lines)
	for _, v := range []string{"CurrentSettings", "DeadJobs", "OperatorLog", "QueueStatus", "RecoveryStatus", "WorkerStatus"} {
		r := run(t, s, "SELECT * FROM chokaq."+v)
		t.Log(v, r.lines)
	}
}
