package doctor

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"
)

// workers: who is gone without a word, who drains without an end, who is not as it was started?
func workers(ctx context.Context, p *Patient) ([]Finding, error) {
	type worker struct {
		name, state, version string
		wanted               sql.NullInt64
		inState              int64
	}
	all, err := rows(ctx, p.DB, `SELECT CONCAT(w.HostName, N' ', w.ProcessId), w.State, w.Version, w.HandlersWanted, DATEDIFF_BIG(SECOND, w.StateAt, SYSUTCDATETIME())
FROM chokaq.WorkerStatus AS w WHERE w.State <> 'stopped' AND w.HeartbeatAt > DATEADD(DAY, -1, SYSUTCDATETIME()) ORDER BY w.HostName, w.ProcessId`, func(r *sql.Rows) (worker, error) {
		var w worker
		err := r.Scan(&w.name, &w.state, &w.version, &w.wanted, &w.inState)
		return w, err
	})
	if err != nil {
		return nil, err
	}
	counts := make(map[string]int)
	var versions, gone, stuck, changed []string
	bound := p.Worker.ShutdownBound()
	for _, w := range all {
		counts[w.state]++
		switch w.state {
		case "gone":
			gone = append(gone, w.name)
		case "draining":
			if inState := time.Duration(w.inState) * time.Second; inState > bound+time.Minute {
				stuck = append(stuck, fmt.Sprintf("%s (for %v)", w.name, inState))
			}
		case "running":
			if !slices.Contains(versions, w.version) {
				versions = append(versions, w.version)
			}
			if w.wanted.Valid {
				changed = append(changed, fmt.Sprintf("%s (%d)", w.name, w.wanted.Int64))
			}
		}
	}
	found := fmt.Sprintf("%d run, %d drain", counts["running"], counts["draining"])
	var findings []Finding
	add := func(s Severity, text, do string) {
		findings = append(findings, Finding{Severity: s, Found: text, Do: do})
	}
	if len(gone) > 0 {
		add(Warning, fmt.Sprintf("%s, %d of the last day are gone without a word: killed, crashed, or cut off from the database: %s", found, len(gone), names(gone)), "chokaq-worker stops --outcome gone; look at their machines' logs")
	}
	if len(stuck) > 0 {
		add(Warning, fmt.Sprintf("drain for longer than a stop takes with this environment's settings (%v): %s", bound, names(stuck)), "look at their logs; a second signal ends them, and leaves what they hold to recovery")
	}
	if counts["running"] == 0 {
		add(Note, found+": nobody claims jobs", "")
	}
	if len(versions) > 1 {
		slices.Sort(versions)
		add(Note, "versions that run side by side: "+names(versions), "is a deployment under way? If not, it was left half done")
	}
	if len(changed) > 0 {
		add(Note, "handlers set by an operator: "+names(changed), "chokaq-worker workers handlers WORKER default, when the reason is gone")
	}
	if len(findings) == 0 {
		return one(OK, found, ""), nil
	}
	return findings, nil
}

// heldJobs: does recovery take what it should? That it runs is not enough: it skips what somebody has locked.
func heldJobs(ctx context.Context, p *Patient) ([]Finding, error) {
	var held, overdue, longest int64
	if err := p.DB.QueryRowContext(ctx, `SELECT COUNT_BIG(*), COALESCE(SUM(CASE WHEN h.SecondsUntilRecovery < -300 THEN 1 ELSE 0 END), 0), COALESCE(MAX(-h.SecondsUntilRecovery), 0)
FROM chokaq.HeldJobs AS h`).Scan(&held, &overdue, &longest); err != nil {
		return nil, err
	}
	if overdue > 0 {
		return one(Error, fmt.Sprintf("%d of %s that workers hold should have been taken by recovery, the longest %v ago", overdue, jobs(held), time.Duration(longest)*time.Second),
			"does recovery run (see above)? If so, a transaction that somebody left open has locked them: look at sys.dm_tran_locks and sys.dm_exec_sessions. chokaq-worker jobs running names them"), nil
	}
	return one(OK, fmt.Sprintf("workers hold %s; none is overdue for recovery", jobs(held)), ""), nil
}
