// Package storage keeps the rows of sqlsim: tables with a clustered index or a heap,
// nonclustered indexes, the locks on their keys, the undo log of transactions, and
// the row versions that snapshots read.
//
// Two rules hold everywhere:
//
//   - Physical consistency comes from a short latch per table. A wait for a lock never
//     holds a latch.
//   - Whoever changes an entry of an index holds an X lock on its key first (or a lock
//     on the whole table that implies it), and keeps it to the end of the transaction.
//
// Deleted entries stay in their tree as ghosts until the deleting transaction has
// ended and no snapshot can still see them, so that a reader meets the lock of the
// deleter where the row was.
package storage
