package storage

// Snapshot is a point in the order of commits. A reader with a snapshot takes no row
// locks and sees what was committed by then, and what its own transaction wrote.
type Snapshot struct {
	store  *Store
	seq    uint64
	closed bool
}

// OpenSnapshot returns a snapshot of what is committed now.
func (s *Store) OpenSnapshot() *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snapshots[s.seq]++
	return &Snapshot{store: s, seq: s.seq}
}

// Close lets go of the old versions that the snapshot kept alive.
func (n *Snapshot) Close() {
	if n == nil || n.closed {
		return
	}
	n.closed = true
	s := n.store
	s.mu.Lock()
	if s.snapshots[n.seq]--; s.snapshots[n.seq] == 0 {
		delete(s.snapshots, n.seq)
	}
	due := s.takeDue()
	s.mu.Unlock()
	for _, tx := range due {
		tx.cleanUp(true)
	}
}

// takeDue removes and returns the deferred transactions that no open snapshot precedes.
func (s *Store) takeDue() []*Txn {
	if len(s.deferred) == 0 {
		return nil
	}
	oldest := s.seq
	for seq := range s.snapshots {
		oldest = min(oldest, seq)
	}
	n := 0
	for n < len(s.deferred) && s.deferred[n].committed.Load() <= oldest {
		n++
	}
	due := append([]*Txn(nil), s.deferred[:n]...)
	s.deferred = append(s.deferred[:0], s.deferred[n:]...)
	return due
}

// sees reports whether the snapshot shows what writer wrote to a reader in tx.
func (n *Snapshot) sees(writer, tx *Txn) bool {
	if writer == nil || writer == tx {
		return true
	}
	seq := writer.committed.Load()
	return seq != 0 && seq <= n.seq
}

// visible returns the version of a row that the snapshot shows, nil for none.
func (n *Snapshot) visible(img *image, tx *Txn) *image {
	for ; img != nil; img = img.prev {
		if n.sees(img.writer, tx) {
			if img.vals == nil {
				return nil
			}
			return img
		}
	}
	return nil
}
