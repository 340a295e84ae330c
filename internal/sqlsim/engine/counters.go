package engine

import (
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/storage"
)

// Counters returns what the session has cost since it began, or since ResetCounters:
// rows read, seeks, lookups, locks and so on.
func (s *Session) Counters() storage.Counters { return s.planner().counters }

// ResetCounters sets them to zero.
func (s *Session) ResetCounters() { s.planner().counters = storage.Counters{} }

// IndexUse is how an index of a table has been used by all sessions.
type IndexUse struct {
	Index                                              string
	Seeks, Scans, Lookups, RowsRead, Writes, LockWaits int64
}

// TableUse returns the use of each index of a table, the rows that READPAST has
// skipped, and how often locks were escalated. The name is schema.table.
func (srv *Server) TableUse(database, name string) (indexes []IndexUse, skipped, escalations int64, ok bool) {
	srv.mu.RLock()
	defer srv.mu.RUnlock()
	db := srv.databases[foldName(database)]
	if db == nil {
		return nil, 0, 0, false
	}
	sch, obj, found := strings.Cut(name, ".")
	if !found {
		sch, obj = "dbo", name
	}
	s := db.schemaNamed(sch)
	if s == nil || s.objects[foldName(obj)] == nil || s.objects[foldName(obj)].table == nil {
		return nil, 0, 0, false
	}
	t := s.objects[foldName(obj)].table
	for _, ix := range t.indexes {
		c := &ix.data.Counters
		indexes = append(indexes, IndexUse{ix.name, c.Seeks.Load(), c.Scans.Load(), c.Lookups.Load(), c.RowsRead.Load(), c.Updates.Load(), c.LockWaits.Load()})
	}
	return indexes, t.data.Skipped.Load(), t.data.Escalations.Load(), true
}
