package demo

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// account is what the database says about a job.
type account struct {
	archived bool
	rejected bool // its file had gone: dead, and that is right
	requeued int  // how often an operator has decided to run it again
}

// books is the outcome of the demo: the ledger against the database.
type books struct {
	files, done, rejected, once, decided, lost, undecided int
}

// reconcile balances the ledger's lines with the database's accounts, job by job.
func reconcile(jobs []int64, accounts map[int64]account, runs map[int64]int) books {
	b := books{files: len(jobs)}
	known := make(map[int64]bool, len(jobs))
	for _, id := range jobs {
		known[id] = true
		a, n := accounts[id], runs[id]
		switch {
		case a.archived:
			b.done++
		case a.rejected:
			b.rejected++
		}
		switch {
		case n > 1+a.requeued:
			b.undecided++
		case n > 1:
			b.decided++
		case n == 1:
			b.once++
		case !a.rejected:
			b.lost++ // no run at all
			continue
		}
		if !a.archived && !a.rejected {
			b.lost++
		}
	}
	for id := range runs {
		if !known[id] {
			b.undecided++ // nobody has asked for it
		}
	}
	return b
}

// check names what is wrong.
func (b books) check() error {
	var wrong []error
	if b.lost > 0 {
		wrong = append(wrong, fmt.Errorf("%d jobs are lost", b.lost))
	}
	if b.undecided > 0 {
		wrong = append(wrong, fmt.Errorf("%d jobs ran twice and nobody had decided that", b.undecided))
	}
	if b.done+b.rejected != b.files {
		wrong = append(wrong, fmt.Errorf("%d files, but %d jobs have ended", b.files, b.done+b.rejected))
	}
	return errors.Join(wrong...)
}

func (b books) rows() [][]string {
	rows := [][]string{
		{"files", fmt.Sprint(b.files), "one job each"},
		{"done", fmt.Sprint(b.done), "in the database's archive"},
	}
	if b.rejected > 0 {
		rows = append(rows, []string{"refused by their handler", fmt.Sprint(b.rejected), "the file had gone; dead, for review"})
	}
	return append(rows,
		[]string{"ran once", fmt.Sprint(b.once), "one line in the ledger"},
		[]string{"ran again, decided", fmt.Sprint(b.decided), "an operator had requeued it after the crash"},
		[]string{"lost", fmt.Sprint(b.lost), "must be 0"},
		[]string{"ran twice, undecided", fmt.Sprint(b.undecided), "must be 0"})
}

// balance reads both books, prints the result, and fails if a number is wrong.
func (d *demo) balance(ctx context.Context) error {
	accounts := make(map[int64]account)
	rows, err := d.pool.QueryContext(ctx, `SELECT a.JobId, a.RequeueCount, 'archived' FROM chokaq.JobsArchive AS a
UNION ALL
SELECT x.JobId, x.RequeueCount, x.Reason FROM chokaq.DeadJobs AS x`)
	if err != nil {
		return err
	}
	for rows.Next() {
		var id int64
		var requeued int
		var what string
		if err := rows.Scan(&id, &requeued, &what); err != nil {
			return errors.Join(err, rows.Close())
		}
		accounts[id] = account{archived: what == "archived", rejected: what == "Rejected", requeued: requeued}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	entries, err := readEntries(d.ledger)
	if err != nil {
		return err
	}
	b := reconcile(d.jobs, accounts, runsByJob(entries))
	d.print("\nThe ledger against the database:\n")
	if err := d.Table([]string{"What", "Jobs", "That is"}, b.rows()); err != nil {
		return err
	}
	if err := b.check(); err != nil {
		return fmt.Errorf("the books do not balance: %w", err)
	}
	d.print("\nThe books balance, after %.0f seconds.", time.Since(d.began).Seconds())
	return nil
}
