package engine

import (
	"sync/atomic"
	"time"
)

// shownSession is what the management views of other sessions show of this one. It is
// kept up to date between statements and read at any time.
type shownSession struct {
	settings atomic.Pointer[settings]
	rows     atomic.Int64 // @@ROWCOUNT
	failed   atomic.Int32 // @@ERROR
	open     atomic.Int32 // @@TRANCOUNT
	begun    atomic.Int64 // the last request, in nanoseconds of Unix time
	ended    atomic.Int64
}

// show publishes the state of the session.
func (s *Session) show() {
	if p := s.shown.settings.Load(); p == nil || *p != s.settings {
		set := s.settings
		s.shown.settings.Store(&set)
	}
	s.shown.rows.Store(s.rowCount)
	s.shown.failed.Store(s.lastError)
	s.shown.open.Store(int32(s.txn.count))
}

func (s *shownSession) requestTimes() (begun, ended time.Time) {
	if n := s.begun.Load(); n != 0 {
		begun = time.Unix(0, n).UTC()
	}
	if n := s.ended.Load(); n != 0 {
		ended = time.Unix(0, n).UTC()
	}
	return begun, ended
}
