package engine

import (
	"context"

	"github.com/chokaq/chokaq/internal/sqlsim/storage"
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
)

// execDefinition runs a statement that defines something, or TRUNCATE.
func (p *planner) execDefinition(ctx context.Context, fr *frame, st tsql.Statement, sink Sink) (stmtResult, error) {
	if fr.insideFunction {
		return stmtResult{}, sqlError(443, 16, 14, "Invalid use of a side-effecting operator within a function.")
	}
	var err error
	switch st := st.(type) {
	case *tsql.CreateTable:
		err = p.execCreateTable(ctx, fr, st)
	case *tsql.AlterTable:
		err = p.execAlterTable(ctx, fr, st)
	case *tsql.DropObject:
		err = p.execDrop(ctx, fr, st)
	case *tsql.CreateIndex:
		err = p.execCreateIndex(ctx, fr, st)
	case *tsql.DropIndex:
		err = p.execDropIndex(ctx, fr, st)
	case *tsql.AlterIndex:
		err = p.execAlterIndex(ctx, fr, st)
	case *tsql.CreateModule:
		err = p.execCreateModule(ctx, fr, st)
	case *tsql.Truncate:
		err = p.execTruncate(ctx, fr, st)
	case *tsql.CreateSchema:
		err = p.execCreateSchema(ctx, fr, st, sink)
	case *tsql.AlterSchema:
		err = p.execAlterSchema(ctx, fr, st)
	case *tsql.CreateType:
		err = p.execCreateType(ctx, st)
	case *tsql.CreateSequence:
		err = p.execSequence(ctx, st)
	case *tsql.CreateSynonym:
		err = p.execCreateSynonym(ctx, st)
	case *tsql.CreateRole:
		err = p.execCreateRole(ctx, st)
	case *tsql.AlterRole:
		err = p.execAlterRole(ctx, st)
	case *tsql.CreateUser:
		err = p.execCreateUser(ctx, st)
	case *tsql.CreateLogin:
		err = p.execCreateLogin(ctx, st)
	case *tsql.Permission:
		err = p.execPermission(ctx, st)
	case *tsql.AlterAuthorization:
		err = p.execAlterAuthorization(ctx, st)
	case *tsql.CreateDatabase:
		err = p.execCreateDatabase(ctx, st)
	case *tsql.AlterDatabase:
		err = p.execAlterDatabase(ctx, st)
	case *tsql.EnableTrigger:
		err = p.execEnableTrigger(ctx, st)
	case *tsql.CreateStatistics:
		_, err = p.tableNamed(st.Table)
	case *tsql.UpdateStatistics:
		// There are no statistics to update: plans do not depend on them.
		_, err = p.tableNamed(st.Table)
	case *tsql.Checkpoint:
	case *tsql.DBCC:
		err = p.execDBCC(ctx, fr, st, sink)
	default:
		err = tsql.Unsupported(st.Position().Line, "this statement (%T)", st)
	}
	return stmtResult{command: CommandOther}, err
}

// tableNamed finds a table, or fails with 4902 or 208.
func (p *planner) tableNamed(name tsql.ObjectName) (*object, error) {
	o, err := p.resolveObject(name)
	if err != nil {
		return nil, err
	}
	if o == nil || o.table == nil {
		return nil, lineAt(sqlError(1088, 16, 12, "Cannot find the object \"%s\" because it does not exist or you do not have permissions.", name), name.Pos)
	}
	return o, nil
}

// lockSchema takes the schema modification lock on a table, and makes sure that it is
// still there then.
func (p *planner) lockSchema(ctx context.Context, o *object) (*storage.Txn, error) {
	tx, err := p.txn(ctx)
	if err != nil {
		return nil, err
	}
	if err := tx.LockTable(ctx, o.table.data, storage.ModeSchM, storage.ForTransaction); err != nil {
		return nil, err
	}
	return tx, nil
}

// execTruncate is TRUNCATE TABLE.
func (p *planner) execTruncate(ctx context.Context, fr *frame, st *tsql.Truncate) error {
	o, err := p.resolveObject(st.Table)
	if err != nil {
		return err
	}
	if o == nil || o.table == nil {
		return lineAt(sqlError(4701, 16, 1, "Cannot find the object \"%s\" because it does not exist or you do not have permissions.", st.Table.Name), st.Pos)
	}
	if !o.table.temporary {
		if err := p.checkAlter(o, 4701, "Cannot find the object \"%s\" because it does not exist or you do not have permissions."); err != nil {
			return err
		}
	}
	for _, fk := range o.table.references {
		if fk.from != o.table {
			return lineAt(sqlError(4712, 16, 1, "Cannot truncate table '%s' because it is being referenced by a FOREIGN KEY constraint.", st.Table.Name), st.Pos)
		}
	}
	tx, err := p.lockSchema(ctx, o)
	if err != nil {
		return err
	}
	t := o.table
	if err := p.rebuild(tx, t, true, nil); err != nil {
		return err
	}
	if id := t.identity; id != nil {
		last, used := id.last.Load(), id.used.Load()
		id.last.Store(id.seed - id.inc)
		id.used.Store(false)
		tx.OnRollback(func() {
			id.last.Store(last)
			id.used.Store(used)
		})
	}
	return nil
}
