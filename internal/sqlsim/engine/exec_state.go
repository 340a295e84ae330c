package engine

import (
	"context"

	"github.com/chokaq/chokaq/internal/sqlsim/storage"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// exec is the state of one running statement.
type exec struct {
	p       *planner
	ctx     context.Context
	fr      *frame
	tx      *storage.Txn
	private *storage.Txn // of table variables; begun on first use
	snap    *storage.Snapshot
	located []located
	working map[*recursion][][]value.Value
	notices []*value.Error
	sets    map[*valueSet]*valueSet
	kept    map[*subquery]*keptRows

	// The name of the table that was written last, for messages.
	named *table
	name  string

	identity    value.Value
	hasIdentity bool

	drawn map[*object]*drawn // from sequences, by the row at hand

	// before is what the variables held before a statement that sets them: OUTPUT shows those.
	before []value.Value
}

// execOf returns the exec that a row context carries.
func execOf(rc *rowCtx) *exec {
	x, _ := rc.exec.(*exec)
	return x
}

// newExec begins a statement.
func (p *planner) newExec(ctx context.Context, fr *frame) (*exec, error) {
	tx, err := p.txn(ctx)
	if err != nil {
		return nil, err
	}
	return &exec{p: p, ctx: ctx, fr: fr, tx: tx, working: map[*recursion][][]value.Value{}}, nil
}

// end closes what the statement held; failed undoes what it did to table variables.
func (x *exec) end(failed bool) {
	if x.private != nil {
		if failed {
			x.private.Rollback()
		} else {
			x.private.Commit()
		}
	}
	x.snap.Close()
}

// statementSnapshot is what a statement sees under READ_COMMITTED_SNAPSHOT.
func (x *exec) statementSnapshot() *storage.Snapshot {
	if x.snap == nil {
		x.snap = x.p.srv.store.OpenSnapshot()
	}
	return x.snap
}

// transactionSnapshot is what a transaction sees under SNAPSHOT isolation: it begins
// with the first access to data.
func (x *exec) transactionSnapshot() *storage.Snapshot {
	if x.tx.Snapshot == nil {
		x.tx.Snapshot = x.p.srv.store.OpenSnapshot()
	}
	return x.tx.Snapshot
}

// txOf returns the transaction that reads and writes t. Table variables have their
// own, because a rollback does not touch them.
func (x *exec) txOf(t *table) *storage.Txn {
	if !t.variable {
		return x.tx
	}
	if x.private == nil {
		x.private = x.p.srv.store.Begin(&storage.Party{ID: x.p.party.ID})
		x.private.Counters = &x.p.counters
	}
	return x.private
}

// errStale says that a plan was made for a catalog that has changed since.
type errStale struct{}

func (errStale) Error() string { return "the plan is out of date" }

// open locks the table as reading it demands, and returns how to read.
func (x *exec) open(t *table, h tableHints, write bool) (storage.Read, error) {
	read, mode, d, err := x.reading(t, h, write)
	if err != nil {
		return read, err
	}
	if mode == storage.ModeNone {
		return read, nil
	}
	if mode != storage.ModeSchS && mode != storage.ModeX && t.wholeLocks.Load() {
		// An index without row locks is locked as a whole.
		mode |= storage.ModeS
		if read.Lock != storage.ModeS {
			mode = storage.ModeX
		}
	}
	wait := x.tx.Wait
	if h.noWait {
		x.tx.Wait = 0
	}
	err = x.tx.LockTable(x.ctx, t.data, mode, d)
	x.tx.Wait = wait
	if err != nil {
		return read, err
	}
	if t.obj != nil && t.obj.dropped {
		return read, errStale{}
	}
	return read, nil
}

// keptRows are the rows of a query that does not depend on the rows around it, as far as
// they have been read.
type keptRows struct {
	rows     [][]value.Value
	complete bool
}

// rerun runs a query that does not depend on the rows around it: what was read before is
// not read again.
func (x *exec) rerun(sub *subquery, run func(each rowFn) error, each rowFn) error {
	k := x.kept[sub]
	if k == nil {
		k = &keptRows{}
		if x.kept == nil {
			x.kept = map[*subquery]*keptRows{}
		}
		x.kept[sub] = k
		stopped := false
		err := run(func(row []value.Value) (bool, error) {
			k.rows = append(k.rows, row)
			more, err := each(row)
			stopped = !more || err != nil
			return more, err
		})
		k.complete = err == nil && !stopped
		return err
	}
	for _, row := range k.rows {
		if more, err := each(row); err != nil || !more {
			return err
		}
	}
	if k.complete {
		return nil
	}
	var all [][]value.Value
	if err := run(func(row []value.Value) (bool, error) {
		all = append(all, row)
		return true, nil
	}); err != nil {
		return err
	}
	done := min(len(k.rows), len(all))
	k.rows, k.complete = all, true
	for _, row := range all[done:] {
		if more, err := each(row); err != nil || !more {
			return err
		}
	}
	return nil
}
