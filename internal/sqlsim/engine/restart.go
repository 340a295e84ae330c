package engine

import (
	"fmt"
	"math"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// stage is how far a server that was restarted has come.
type stage int32

const (
	online     stage = iota
	starting         // no login is served yet
	recovering       // the system databases are open, the others are being recovered
)

// Crash loses what does not outlive the process of a server: what was made in tempdb, global temporary tables, and the identity values that were
// cached. Sessions, and with them their transactions, locks and application locks, must have ended: their connections are the wire's. What was
// committed stays. From now on logins are refused with error 17187, until Recover.
func (srv *Server) Crash() error {
	srv.stage.Store(int32(starting))
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if n := len(srv.sessions); n > 0 {
		return fmt.Errorf("engine: %d sessions have no connection that ends with the server; close them before a restart", n)
	}
	id := srv.nextDB
	srv.nextDB = srv.databases["tempdb"].id - 1
	srv.addDatabase("tempdb", srv.collation, srv.logins["sa"]).recovery = "SIMPLE"
	srv.nextDB = id
	srv.nextSPID = 50
	srv.started = srv.clock.Now().UTC()
	for _, db := range srv.databases {
		for _, o := range db.objects {
			if o.table != nil && o.table.identity != nil {
				o.table.identity.loseCache(o.table.columns[o.table.identity.ordinal].typ.Kind)
			}
		}
	}
	srv.version.Add(1)
	return nil
}

// Recover opens the system databases. Logins to others fail with 4060, and naming one with 922, until Online.
func (srv *Server) Recover() { srv.stage.Store(int32(recovering)) }

// Online ends a restart.
func (srv *Server) Online() { srv.stage.Store(int32(online)) }

// ready is nil when logins are served.
func (srv *Server) ready() error {
	if stage(srv.stage.Load()) == starting {
		return sqlError(17187, 16, 1, "SQL Server is not ready to accept new client connections. Wait a few minutes before trying again. If you have access to the error log, look for the informational message that indicates that SQL Server is ready before trying to connect again.")
	}
	return nil
}

// recovering reports whether the database is not open yet after a restart.
func (srv *Server) recovering(db *database) bool {
	return stage(srv.stage.Load()) == recovering && !db.system()
}

// recovered is nil when the database can be used.
func (srv *Server) recovered(db *database) error {
	if srv.recovering(db) {
		return sqlError(922, 14, 1, "Database '%s' is being recovered. Waiting until recovery is finished.", db.name)
	}
	return nil
}

// loseCache skips the values that were cached. SQL Server documents only that there are gaps; these are the ones that it is seen to leave.
func (i *identityColumn) loseCache(kind value.Kind) {
	step := map[value.Kind]int64{value.BigInt: 10000, value.Int: 1000}[kind] * i.inc
	if i.used.Load() && i.inc > -1000 && i.inc < 1000 && i.last.Load() < math.MaxInt32-10_000_000 && i.last.Load() > math.MinInt32+10_000_000 {
		i.last.Add(step)
	}
}
