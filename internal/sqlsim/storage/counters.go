package storage

import "sync/atomic"

// Counters tell what a statement or session cost. They belong to one goroutine.
type Counters struct {
	RowsRead  int64 // entries of an index that a scan or seek looked at
	Seeks     int64 // ranges positioned by key
	Scans     int64 // ranges without a bound
	Lookups   int64 // clustered rows fetched for a nonclustered entry
	Locks     int64 // locks asked for and granted
	LockWaits int64 // locks that had to wait
	Skipped   int64 // rows that READPAST skipped
	Writes    int64 // index entries written
}

// Add adds o to c.
func (c *Counters) Add(o Counters) {
	c.RowsRead += o.RowsRead
	c.Seeks += o.Seeks
	c.Scans += o.Scans
	c.Lookups += o.Lookups
	c.Locks += o.Locks
	c.LockWaits += o.LockWaits
	c.Skipped += o.Skipped
	c.Writes += o.Writes
}

// IndexCounters are the same for one index, shared by all sessions.
type IndexCounters struct {
	Seeks, Scans, Lookups, RowsRead, Updates, LockWaits atomic.Int64
}
