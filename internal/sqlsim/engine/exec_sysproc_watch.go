package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/chokaq/chokaq/internal/sqlsim/storage"
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// The procedures with which people look at a server: sp_who, sp_who2, sp_lock,
// sp_spaceused, sp_help, and DBCC OPENTRAN and INPUTBUFFER.

// grid is a result set that is made row by row.
type grid struct {
	cols []Column
	rows [][]value.Value
}

// newGrid has columns that are declared as those of system views are.
func (p *planner) newGrid(spec string) *grid {
	g := &grid{}
	for c := range strings.SplitSeq(spec, ", ") {
		name, kind, _ := strings.Cut(c, ":")
		typ := sysTypes[kind]
		if typ.Kind.IsCharacter() {
			typ.Collation = p.db.collation
		}
		g.cols = append(g.cols, Column{Name: name, Type: typ, Nullable: true})
	}
	return g
}

func (g *grid) add(vals ...any) {
	row := make([]value.Value, len(g.cols))
	for i := range row {
		row[i] = sysValue(vals[i], g.cols[i].Type)
	}
	g.rows = append(g.rows, row)
}

func (g *grid) send(sink Sink) error {
	if err := sink.Columns(g.cols); err != nil {
		return err
	}
	for _, r := range g.rows {
		if err := sink.Row(r); err != nil {
			return err
		}
	}
	return sink.Done(CommandSelect, int64(len(g.rows)), true)
}

// watched is one session as sp_who and sp_who2 show it.
type watched struct {
	*planner
	state            sessionState
	status, database string
	command          string
	blockedBy        int
}

// watch lists the sessions that a caller may see: all, those of a login, that of a
// number, or those that do something (ACTIVE).
func (p *planner) watch(proc string, list []procArg) ([]watched, error) {
	args, err := arguments(proc, list, "@loginame")
	if err != nil {
		return nil, err
	}
	only := argText(args, "@loginame")
	blocked := map[int]int{}
	for _, l := range p.srv.store.Locks.List() {
		if len(l.BlockedBy) > 0 {
			blocked[l.Session] = l.BlockedBy[0]
		}
	}
	var out []watched
	for _, s := range (&viewer{p: p, db: p.db}).visibleSessions() {
		w := watched{planner: s, state: s.state(), command: "AWAITING COMMAND", blockedBy: blocked[s.party.ID]}
		w.status = w.state.status
		if s == p {
			w.status = "running"
		}
		if w.blockedBy > 0 {
			w.status = "suspended"
		}
		if w.status != "sleeping" {
			w.command = "SELECT"
			if f := strings.Fields(s.party.Statement()); len(f) > 0 {
				w.command = strings.ToUpper(f[0])
			}
		}
		if db := s.current.Load(); db != nil {
			w.database = db.name
		}
		switch {
		case only == "", only == fmt.Sprint(s.party.ID), strings.EqualFold(only, s.original.name):
		case strings.EqualFold(only, "active") && w.status != "sleeping":
		default:
			continue
		}
		out = append(out, w)
	}
	return out, nil
}

func whoProc(ctx context.Context, fr *frame, list []procArg, sink Sink) (int32, error) {
	p := fr.sess.planner()
	sessions, err := p.watch("sp_who", list)
	if err != nil {
		return 1, err
	}
	g := p.newGrid("spid:smallint, ecid:smallint, status:vc, loginame:sysname, hostname:sysname, blk:vc, dbname:sysname, cmd:vc, request_id:int")
	for _, w := range sessions {
		g.add(w.party.ID, 0, w.status, w.original.name, w.client.HostName, fmt.Sprint(w.blockedBy), w.database, w.command, 0)
	}
	return 0, g.send(sink)
}

func who2Proc(ctx context.Context, fr *frame, list []procArg, sink Sink) (int32, error) {
	p := fr.sess.planner()
	sessions, err := p.watch("sp_who2", list)
	if err != nil {
		return 1, err
	}
	g := p.newGrid("SPID:vc, Status:vc, Login:sysname, HostName:sysname, BlkBy:vc, DBName:sysname, Command:vc, CPUTime:vc, DiskIO:vc, LastBatch:vc, ProgramName:sysname, SPID:vc, REQUESTID:vc")
	for _, w := range sessions {
		spid, by, host := fmt.Sprintf("%-5d", w.party.ID), "  .", w.client.HostName
		if w.blockedBy > 0 {
			by = fmt.Sprint(w.blockedBy)
		}
		if host == "" {
			host = "  ."
		}
		g.add(spid, w.status, w.original.name, host, by, w.database, w.command, "0", "0", w.state.begun.Format("01/02 15:04:05"), w.client.AppName, spid, "0    ")
	}
	return 0, g.send(sink)
}

// lockProc is sp_lock.
func lockProc(ctx context.Context, fr *frame, list []procArg, sink Sink) (int32, error) {
	p := fr.sess.planner()
	args, err := arguments("sp_lock", list, "@spid1", "@spid2")
	if err != nil {
		return 1, err
	}
	wanted := func(spid int) bool {
		if len(args) == 0 {
			return true
		}
		for _, v := range args {
			if v.Kind().IsInteger() && !v.IsNull() && int(v.Int()) == spid {
				return true
			}
		}
		return false
	}
	kinds := map[storage.ResourceKind]string{storage.ResourceDatabase: "DB", storage.ResourceObject: "TAB", storage.ResourceKey: "KEY", storage.ResourceRID: "RID"}
	g := p.newGrid("spid:smallint, dbid:smallint, ObjId:int, IndId:smallint, Type:c4, Resource:sysname, Mode:vc, Status:vc")
	for _, s := range (&viewer{p: p, db: p.db}).visibleSessions() {
		if !wanted(s.party.ID) {
			continue
		}
		g.add(s.party.ID, s.state().db, 0, 0, "DB", "", "S", "GRANT")
		for _, l := range p.srv.store.Locks.List() {
			if l.Session != s.party.ID {
				continue
			}
			kind := kinds[l.Resource.Kind]
			if kind == "" {
				kind = "APP"
			}
			status := l.Status
			if status == "CONVERT" {
				status = "CNVT"
			}
			g.add(l.Session, l.Resource.Database, l.Resource.Object, l.Resource.Index, kind, l.Resource.Description(), l.Mode.String(), status)
		}
	}
	return 0, g.send(sink)
}

// spaceUsedProc is sp_spaceused. There are no pages: sizes are what the rows would take at a
// hundred bytes each.
func spaceUsedProc(ctx context.Context, fr *frame, list []procArg, sink Sink) (int32, error) {
	p := fr.sess.planner()
	args, err := arguments("sp_spaceused", list, "@objname", "@updateusage")
	if err != nil {
		return 1, err
	}
	kb := func(rows int64) int64 { return (rows*100 + 8191) / 8192 * 8 }
	size := func(t *table) (rows, data, index int64) {
		rows = t.data.Rows()
		return rows, kb(rows), kb(rows) * int64(len(t.indexes)-1)
	}
	if name := argText(args, "@objname"); name != "" {
		n, err := tsql.ParseName(name)
		if err != nil {
			return 1, err
		}
		o, err := p.resolveObject(n)
		if err != nil {
			return 1, err
		}
		if o == nil || o.table == nil || !p.visible(o) {
			return 1, sqlError(15009, 16, 1, "The object '%s' does not exist in database '%s' or is invalid for this operation.", name, p.db.name)
		}
		rows, data, index := size(o.table)
		g := p.newGrid("name:sysname, rows:vc, reserved:vc, data:vc, index_size:vc, unused:vc")
		g.add(o.name, fmt.Sprintf("%-20d", rows), fmt.Sprintf("%d KB", data+index), fmt.Sprintf("%d KB", data), fmt.Sprintf("%d KB", index), "0 KB")
		return 0, g.send(sink)
	}
	var data, index int64
	for _, o := range (&viewer{p: p, db: p.db}).tables() {
		_, d, i := size(o.table)
		data, index = data+d, index+i
	}
	g := p.newGrid("database_name:sysname, database_size:vc, unallocated space:vc")
	g.add(p.db.name, "16.00 MB", fmt.Sprintf("%.2f MB", max(0, 8-float64(data+index)/1024)))
	if err := g.send(sink); err != nil {
		return 1, err
	}
	g = p.newGrid("reserved:vc, data:vc, index_size:vc, unused:vc")
	g.add(fmt.Sprintf("%d KB", data+index), fmt.Sprintf("%d KB", data), fmt.Sprintf("%d KB", index), "0 KB")
	return 0, g.send(sink)
}

// helpProc is sp_help without a name, and the parts about the object and its columns or
// parameters of sp_help with one.
func helpProc(ctx context.Context, fr *frame, list []procArg, sink Sink) (int32, error) {
	p := fr.sess.planner()
	args, err := arguments("sp_help", list, "@objname")
	if err != nil {
		return 1, err
	}
	v := &viewer{p: p, db: p.db}
	kind := func(o *object) string {
		return strings.ToLower(strings.TrimPrefix(strings.ReplaceAll(kindDescription(o.kind), "_", " "), "SQL "))
	}
	owner := func(o *object) string { return o.schema.name }
	name := argText(args, "@objname")
	if name == "" {
		g := p.newGrid("Name:sysname, Owner:sysname, Object_type:sysname")
		for _, o := range v.objects() {
			g.add(o.name, owner(o), kind(o))
		}
		return 0, g.send(sink)
	}
	n, err := tsql.ParseName(name)
	if err != nil {
		return 1, err
	}
	o, err := p.lookup(n)
	if err != nil {
		return 1, err
	}
	if o == nil || !p.visible(o) {
		return 1, sqlError(15009, 16, 1, "The object '%s' does not exist in database '%s' or is invalid for this operation.", name, p.db.name)
	}
	g := p.newGrid("Name:sysname, Owner:sysname, Type:sysname, Created_datetime:datetime")
	g.add(o.name, owner(o), kind(o), o.created)
	if err := g.send(sink); err != nil {
		return 1, err
	}
	yes := map[bool]string{true: "yes", false: "no"}
	switch {
	case o.table != nil:
		g = p.newGrid("Column_name:sysname, Type:sysname, Computed:vc, Length:int, Nullable:vc, Collation:sysname")
		for _, c := range o.table.columns {
			g.add(c.name, c.typ.Kind.String(), yes[c.computed != nil], storedLength(c.typ), yes[c.nullable], collationName(c.typ))
		}
		if err := g.send(sink); err != nil {
			return 1, err
		}
		g = p.newGrid("index_name:sysname, index_description:str, index_keys:str")
		for _, ix := range o.table.indexes {
			if ix.heap {
				continue
			}
			words := []string{map[bool]string{true: "clustered", false: "nonclustered"}[ix.clustered]}
			if ix.unique {
				words = append(words, "unique")
			}
			if ix.primary {
				words = append(words, "primary key")
			}
			var keys []string
			for _, k := range ix.keys {
				keys = append(keys, o.table.columns[k.column].name+map[bool]string{true: "(-)"}[k.desc])
			}
			g.add(ix.name, strings.Join(words, ", ")+" located on PRIMARY", strings.Join(keys, ", "))
		}
	case o.module != nil && len(o.module.params) > 0:
		g = p.newGrid("Parameter_name:sysname, Type:sysname, Length:int, Param_order:int, Collation:sysname")
		for i, pr := range o.module.params {
			g.add(pr.name, pr.typ.Kind.String(), storedLength(pr.typ), i+1, collationName(pr.typ))
		}
	default:
		return 0, nil
	}
	return 0, g.send(sink)
}

// storedLength is a length in bytes; -1 for (max).
func storedLength(t value.Type) int {
	switch {
	case t.Length == value.Max:
		return -1
	case t.Kind.IsUnicode():
		return 2 * t.Length
	}
	return t.Length
}

// openTransaction is DBCC OPENTRAN: the oldest transaction of the database.
func (s *Session) openTransaction() ([]string, error) {
	p := s.planner()
	var oldest *shownTransaction
	var by *planner
	for _, o := range (&viewer{p: p, db: p.db}).visibleSessions() {
		tx := o.shown.Load()
		if tx == nil || o.sess.shown.open.Load() == 0 || o.current.Load() != p.db {
			continue
		}
		if oldest == nil || tx.began.Before(oldest.began) {
			oldest, by = tx, o
		}
	}
	if oldest == nil {
		return []string{"No active open transactions."}, nil
	}
	return []string{fmt.Sprintf("Transaction information for database '%s'.\n\nOldest active transaction:\n    SPID (server process ID): %d\n    UID (user ID) : -1\n    Name          : user_transaction\n    Start time    : %s",
		p.db.name, by.party.ID, oldest.began.UTC().Format("Jan _2 2006 "+time.StampMilli[len("Jan _2 "):]))}, nil
}

// inputBuffer is DBCC INPUTBUFFER (session).
func (s *Session) inputBuffer(ctx context.Context, fr *frame, st *tsql.DBCC) error {
	if len(st.Args) == 0 {
		return sqlError(2583, 16, 3, "An incorrect number of parameters was given to the DBCC statement.")
	}
	v, err := fr.eval(ctx, st.Args[0], intType)
	if err != nil {
		return err
	}
	p := s.planner()
	for _, o := range (&viewer{p: p, db: p.db}).visibleSessions() {
		if int64(o.party.ID) == v.Int() && !v.IsNull() {
			g := p.newGrid("EventType:vc, Parameters:smallint, EventInfo:str")
			g.add("Language Event", 0, o.party.Statement())
			return g.send(fr.sink)
		}
	}
	return sqlError(7955, 16, 2, "Invalid SPID %d specified.", v.Int())
}
