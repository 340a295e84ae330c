package engine

import "github.com/chokaq/chokaq/internal/sqlsim/value"

// What the wire protocol tells clients about a session.

// Database is the name of the current database.
func (s *Session) Database() string {
	name, _, _ := s.be.currentDatabase()
	return name
}

// Collation is that of the current database.
func (s *Session) Collation() value.Collation {
	_, _, collation := s.be.currentDatabase()
	return collation
}

// TransactionID is the id of the open transaction, 0 without one. The transaction of a
// statement in autocommit mode is nobody's business.
func (s *Session) TransactionID() uint64 {
	if s.txn.count == 0 {
		return 0
	}
	return s.txn.id
}

// OnKill sets what ends the session's connection when KILL ends the session.
func (s *Session) OnKill(hangUp func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onKill = hangUp
}
