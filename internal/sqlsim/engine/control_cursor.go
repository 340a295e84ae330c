package engine

import (
	"context"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// cursor is a Transact-SQL cursor. Every cursor is static: its rows are read when it is
// opened. The keyset and dynamic ones, whose rows change after that, are refused.
type cursor struct {
	name   string
	query  *tsql.Query
	scroll bool
	global bool

	frame *frame // whose variables the query sees
	open  bool
	rows  [][]value.Value
	cols  []Column
	at    int // 0 is before the first row, len(rows)+1 behind the last
}

func (s *Session) newCursor(fr *frame, st *tsql.DeclareCursor) (*cursor, error) {
	c := &cursor{name: st.Name, query: st.Query, frame: fr}
	static, readOnly, forward, kind := false, false, false, ""
	for _, o := range st.Options {
		switch o {
		case "STATIC", "INSENSITIVE", "FAST_FORWARD":
			static = true
			c.scroll = c.scroll || o == "STATIC"
			forward = forward || o == "FAST_FORWARD"
		case "READ_ONLY":
			readOnly = true
		case "FORWARD_ONLY":
			forward = true
		case "TYPE_WARNING", "LOCAL":
		case "GLOBAL":
			c.global = true
		case "SCROLL":
			c.scroll = true
		default:
			kind = o
		}
	}
	c.scroll = c.scroll && !forward
	static = static || readOnly && forward
	if st.Update || kind != "" {
		if kind == "" {
			kind = "FOR UPDATE"
		}
		return nil, tsql.Unsupported(st.Line, "%s cursors; declare it LOCAL STATIC or FAST_FORWARD", kind)
	}
	if !static {
		return nil, tsql.Unsupported(st.Line, "dynamic and keyset cursors; declare it LOCAL STATIC or FAST_FORWARD")
	}
	return c, nil
}

func (s *Session) declareCursor(ctx context.Context, fr *frame, st *tsql.DeclareCursor) error {
	c, err := s.newCursor(fr, st)
	if err != nil {
		return err
	}
	local := false
	for _, o := range st.Options {
		local = local || o == "LOCAL"
	}
	key := foldName(st.Name)
	set := fr.localCursors()
	if !local { // the default of a database is GLOBAL
		c.global = true
		set = s.globalCursors
	}
	if set[key] != nil {
		return sqlError(16915, 16, 1, "A cursor with the name '%s' already exists.", st.Name)
	}
	set[key] = c
	s.lastError = 0
	return nil
}

// localCursors are the cursors declared LOCAL in a frame.
func (fr *frame) localCursors() map[string]*cursor {
	if fr.named == nil {
		fr.named = map[string]*cursor{}
	}
	return fr.named
}

func (fr *frame) closeCursors() {
	fr.named = nil
	clear(fr.cursors)
}

// setCursor is SET @c = CURSOR ... or SET @c = other.
func (s *Session) setCursor(ctx context.Context, fr *frame, st *tsql.SetVar, slot int) error {
	if !fr.layout.decls[slot].cursor {
		return sqlError(16949, 16, 1, "The variable '%s' is a parameter or variable that is not a cursor variable.", st.Name)
	}
	if st.Cursor != nil {
		c, err := s.newCursor(fr, st.Cursor)
		if err != nil {
			return err
		}
		fr.cursors[slot] = c
		return nil
	}
	name := ""
	switch e := st.Value.(type) {
	case *tsql.ColumnRef:
		name = e.Name
	case *tsql.Variable:
		name = e.Name
	default:
		return sqlError(16950, 10, 2, "The variable '%s' does not currently have a cursor allocated to it.", st.Name)
	}
	c, err := s.findCursor(fr, name, false)
	if err != nil {
		return err
	}
	fr.cursors[slot] = c
	return nil
}

func (s *Session) findCursor(fr *frame, name string, global bool) (*cursor, error) {
	if strings.HasPrefix(name, "@") {
		slot, ok := fr.layout.lookup(name)
		if !ok {
			return nil, undeclared(name)
		}
		if c := fr.cursors[slot]; c != nil {
			return c, nil
		}
		return nil, sqlError(16950, 16, 2, "The variable '%s' does not currently have a cursor allocated to it.", name)
	}
	key := foldName(name)
	if !global {
		if c := fr.named[key]; c != nil {
			return c, nil
		}
	}
	if c := s.globalCursors[key]; c != nil {
		return c, nil
	}
	return nil, sqlError(16916, 16, 1, "A cursor with the name '%s' does not exist.", name)
}

func (s *Session) cursorOp(ctx context.Context, fr *frame, st *tsql.CursorOp) error {
	c, err := s.findCursor(fr, st.Name, st.Global)
	if err != nil {
		return err
	}
	switch st.Op {
	case "OPEN":
		if c.open {
			return sqlError(16905, 16, 1, "The cursor is already open.")
		}
		if err := s.openCursor(ctx, fr, c, st); err != nil {
			return err
		}
		s.lastError = 0
		s.rowCount = 0
		return nil
	case "CLOSE":
		if !c.open {
			return sqlError(16917, 16, 1, "Cursor is not open.")
		}
		c.open, c.rows = false, nil
	case "DEALLOCATE":
		switch {
		case strings.HasPrefix(st.Name, "@"):
			slot, _ := fr.layout.lookup(st.Name)
			fr.cursors[slot] = nil
		case !st.Global && fr.named[foldName(st.Name)] == c:
			delete(fr.named, foldName(st.Name))
		default:
			delete(s.globalCursors, foldName(st.Name))
		}
	}
	s.succeed(0)
	return nil
}

func (s *Session) openCursor(ctx context.Context, fr *frame, c *cursor, st tsql.Statement) error {
	t, err := s.beginStatement(ctx, fr, st)
	if err != nil {
		return err
	}
	err = func() error {
		sub, err := s.be.compileSubquery(c.frame.scope(), c.query)
		if err != nil {
			return err
		}
		c.cols = sub.cols
		c.rows = nil
		return sub.run(c.frame.rowCtx(ctx), func(row []value.Value) (bool, error) {
			c.rows = append(c.rows, append([]value.Value(nil), row...))
			return true, nil
		})
	}()
	if e := t.end(err != nil); err == nil {
		err = e
	}
	s.be.statementDone(fr)
	if err != nil {
		return err
	}
	c.open, c.at = true, 0
	return nil
}

func (s *Session) fetch(ctx context.Context, fr *frame, st *tsql.Fetch) error {
	c, err := s.findCursor(fr, st.Name, st.Global)
	if err != nil {
		return err
	}
	if !c.open {
		return sqlError(16917, 16, 2, "Cursor is not open.")
	}
	if st.Direction != "NEXT" && !c.scroll {
		return sqlError(16911, 16, 1, "fetch: The fetch type %s cannot be used with forward only cursors.", strings.ToLower(st.Direction))
	}
	n := int64(0)
	if st.N != nil {
		v, err := fr.eval(ctx, st.N, bigintType)
		if err != nil {
			return err
		}
		n = v.Int()
	}
	last := len(c.rows)
	switch st.Direction {
	case "NEXT":
		c.at++
	case "PRIOR":
		c.at--
	case "FIRST":
		c.at = 1
	case "LAST":
		c.at = last
	case "ABSOLUTE":
		c.at = int(n)
		if n < 0 {
			c.at = last + 1 + int(n)
		}
	case "RELATIVE":
		c.at += int(n)
	}
	c.at = min(max(c.at, 0), last+1)
	if len(st.Into) > 0 && len(st.Into) != len(c.cols) {
		return sqlError(16924, 16, 1, "Cursorfetch: The number of variables declared in the INTO list must match that of selected columns.")
	}
	found := c.at >= 1 && c.at <= last
	s.fetchStatus = -1
	rows := int64(0)
	if found {
		s.fetchStatus = 0
		rows = 1
		for i, name := range st.Into {
			if err := fr.assignVariable(name, c.rows[c.at-1][i], c.cols[i].Type); err != nil {
				return err
			}
		}
	}
	s.succeed(rows)
	if len(st.Into) > 0 {
		return nil
	}
	if err := fr.sink.Columns(c.cols); err != nil {
		return err
	}
	if found {
		if err := fr.sink.Row(c.rows[c.at-1]); err != nil {
			return err
		}
	}
	return fr.sink.Done(CommandSelect, rows, !s.settings.noCount)
}
