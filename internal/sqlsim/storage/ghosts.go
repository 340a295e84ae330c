package storage

// leftGhost is a ghost that may have outlived its cleaning up: because somebody held or wanted its key then, or had made it a row again and took that back
// since.
type leftGhost struct {
	ix  *Index
	rec *Record
	by  *Txn // its deleter, or settled
}

// leave notes ghosts that are to be swept later.
func (s *Store) leave(left []leftGhost) {
	if len(left) == 0 {
		return
	}
	s.mu.Lock()
	s.ghosts = append(s.ghosts, left...)
	s.haunted.Store(true)
	s.mu.Unlock()
}

// sweep removes the ghosts that were left and that nobody has a lock on any more. Every end of a transaction calls it: without it a key that is never
// used again, as those of a queue are, would keep its ghost for ever, and every scan would pass it.
func (s *Store) sweep() {
	if !s.haunted.Load() {
		return
	}
	s.mu.Lock()
	ghosts := s.ghosts
	s.ghosts = nil
	s.haunted.Store(false)
	oldest := s.seq
	for seq := range s.snapshots {
		oldest = min(oldest, seq)
	}
	s.mu.Unlock()
	var left []leftGhost
	for _, g := range ghosts {
		t := g.ix.table
		t.latch.Lock()
		switch {
		case g.rec.ghost != g.by || g.rec.dead: // used again, or taken away
		case g.by != settled && (g.by.committed.Load() == 0 || g.by.committed.Load() > oldest): // not deleted yet, or a snapshot may still see the row
			left = append(left, g)
		case !s.Locks.unlocked(g.ix.resource(g.rec.key)):
			left = append(left, g)
		default:
			if at, ok := g.ix.tree.Get(g.rec); ok && at == g.rec {
				g.ix.tree.Delete(g.rec)
			}
			g.rec.dead = true
		}
		t.latch.Unlock()
	}
	s.leave(left)
}
