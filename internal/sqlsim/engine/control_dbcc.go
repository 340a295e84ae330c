package engine

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// dbcc runs DBCC CHECKIDENT, OPENTRAN and INPUTBUFFER, and the commands that empty caches, of which there are none
// here. Every other command is refused by name.
func (s *Session) dbcc(ctx context.Context, fr *frame, st *tsql.DBCC) error {
	quiet := false
	for _, o := range st.Options {
		quiet = quiet || strings.EqualFold(o, "NO_INFOMSGS")
	}
	var info []string
	switch st.Command {
	case "FREEPROCCACHE", "DROPCLEANBUFFERS", "FREESYSTEMCACHE", "FREESESSIONCACHE":
	case "CHECKIDENT":
		var err error
		if info, err = s.checkIdent(ctx, fr, st); err != nil {
			return err
		}
	case "OPENTRAN":
		var err error
		if info, err = s.openTransaction(); err != nil {
			return err
		}
	case "INPUTBUFFER":
		if err := s.inputBuffer(ctx, fr, st); err != nil {
			return err
		}
	default:
		return tsql.Unsupported(st.Line, "DBCC %s", st.Command)
	}
	s.succeed(0)
	if quiet {
		return nil
	}
	for _, text := range info {
		if err := fr.sink.Message(s.locate(fr, st, sqlError(map[bool]int32{true: 7998, false: 7968}[st.Command == "CHECKIDENT"], 0, 1, "%s", text))); err != nil {
			return err
		}
	}
	return fr.sink.Message(s.locate(fr, st, sqlError(2528, 0, 1, "DBCC execution completed. If DBCC printed error messages, contact your system administrator.")))
}

// checkIdent is DBCC CHECKIDENT (table [, NORESEED | RESEED [, value]]).
func (s *Session) checkIdent(ctx context.Context, fr *frame, st *tsql.DBCC) ([]string, error) {
	p, ok := s.be.(*planner)
	if !ok || len(st.Args) == 0 || len(st.Args) > 3 {
		return nil, sqlError(2583, 16, 3, "An incorrect number of parameters was given to the DBCC statement.")
	}
	text, err := fr.eval(ctx, st.Args[0], value.Type{Kind: value.NVarChar, Length: 4000})
	if err != nil {
		return nil, err
	}
	name, err := tsql.ParseName(text.Str())
	if err != nil {
		return nil, sqlError(2501, 16, 45, "Cannot find a table or object with the name \"%s\". Check the system catalog.", text.Str())
	}
	o, err := p.resolveObject(name)
	if err != nil {
		return nil, err
	}
	if o == nil || o.table == nil {
		return nil, sqlError(2501, 16, 45, "Cannot find a table or object with the name \"%s\". Check the system catalog.", text.Str())
	}
	if err := p.checkAlter(o, 2557, "User does not have permission to run DBCC CHECKIDENT for object '%s'."); err != nil {
		return nil, err
	}
	id := o.table.identity
	if id == nil {
		return nil, sqlError(7997, 16, 1, "'%s' does not contain an identity column.", o.name)
	}
	word := "RESEED"
	if len(st.Args) > 1 {
		w, err := fr.eval(ctx, st.Args[1], sysnameType)
		if err != nil {
			return nil, err
		}
		word = strings.ToUpper(w.Str())
	}
	current := "NULL"
	if id.used.Load() {
		current = strconv.FormatInt(id.last.Load(), 10)
	}
	if len(st.Args) == 3 && word == "RESEED" {
		v, err := fr.eval(ctx, st.Args[2], bigintType)
		if err != nil {
			return nil, err
		}
		// An empty table that never had a row begins with the value itself.
		n := v.Int()
		if !id.used.Load() {
			n -= id.inc
		}
		id.last.Store(n)
		return []string{fmt.Sprintf("Checking identity information: current identity value '%s'.", current)}, nil
	}
	if word != "RESEED" && word != "NORESEED" || len(st.Args) == 3 {
		return nil, sqlError(2560, 16, 9, "Parameter %d is incorrect for this DBCC statement.", 2)
	}
	highest, err := s.highestIdentity(ctx, fr, o.table, name, id)
	if err != nil {
		return nil, err
	}
	column := "NULL"
	if !highest.IsNull() {
		n := identityInt(highest)
		column = strconv.FormatInt(n, 10)
		if word == "RESEED" {
			id.note(n)
		}
	}
	return []string{fmt.Sprintf("Checking identity information: current identity value '%s', current column value '%s'.", current, column)}, nil
}

// highestIdentity is the greatest value in the identity column, the smallest for a
// counter that counts down.
func (s *Session) highestIdentity(ctx context.Context, fr *frame, t *table, name tsql.ObjectName, id *identityColumn) (value.Value, error) {
	pos := tsql.Pos{Line: 1}
	fn := "MAX"
	if id.inc < 0 {
		fn = "MIN"
	}
	q := &tsql.Query{Pos: pos, Body: &tsql.Select{
		Pos:   pos,
		Items: []*tsql.SelectItem{{Pos: pos, Expr: &tsql.FuncCall{Pos: pos, Name: tsql.ObjectName{Name: fn}, Args: []tsql.Expr{&tsql.ColumnRef{Pos: pos, Name: t.columns[id.ordinal].name}}}}},
		From:  []tsql.TableSource{&tsql.TableRef{Pos: pos, Name: name}},
	}}
	c, err := compileScalar(fr.scope(), &tsql.Subquery{Pos: pos, Query: q})
	if err != nil {
		return value.Value{}, err
	}
	return c.eval(fr.rowCtx(ctx))
}
