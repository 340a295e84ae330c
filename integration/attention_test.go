package integration

import (
	"context"
	"errors"
	"testing"
)

// A call that is canceled while it has a transaction open leaves neither the transaction nor a connection that still names it: with
// XACT_ABORT ON, as in every procedure of ChokaQ, the attention rolls back; otherwise the reset of the connection does.
func TestACanceledCallLeavesNoTransaction(t *testing.T) {
	for name, c := range map[string]struct {
		set      string
		poisoned bool // the first request after may be refused (3971): the driver names the transaction in it
	}{"XACT_ABORT ON": {set: "ON"}, "XACT_ABORT OFF": {set: "OFF", poisoned: true}} {
		t.Run(name, func(t *testing.T) {
			d := newEmptyDatabase(t)
			mustExec(t, d.pool, "CREATE TABLE dbo.T (A int PRIMARY KEY, B int)")
			mustExec(t, d.pool, "INSERT INTO dbo.T VALUES (1, 0), (2, 0)")
			mustExec(t, d.pool, "CREATE PROCEDURE dbo.Slow AS BEGIN SET NOCOUNT ON; SET XACT_ABORT "+c.set+"; BEGIN TRANSACTION; UPDATE dbo.T SET B = 1 WHERE A = 1; UPDATE dbo.T SET B = 1 WHERE A = 2; COMMIT TRANSACTION; END")
			pool := openPool(t, d.dsn)
			pool.SetMaxOpenConns(1)

			tx := begin(t, d)
			mustExec(t, tx, "UPDATE dbo.T SET B = 2 WHERE A = 2")
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() {
				_, err := pool.ExecContext(ctx, "dbo.Slow")
				ended <- err
			}()
			eventually(t, "it waits with one row changed", func() bool {
				rows := mustQuery(t, d.pool, "SELECT B FROM dbo.T WITH (NOLOCK) WHERE A = 1")
				return rows[0]["B"].(int64) == 1
			})
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Fatalf("the call ended with %v", err)
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			_, err := query(context.Background(), pool, "SELECT @@TRANCOUNT AS n")
			if c.poisoned && err != nil {
				wantError(t, err, 3971)
			} else if err != nil {
				t.Fatal(err)
			}
			if n := number(t, pool, "SELECT @@TRANCOUNT AS n"); n != 0 {
				t.Errorf("@@TRANCOUNT is %d", n)
			}
			within, stop := context.WithTimeout(context.Background(), patience)
			defer stop()
			if rows, err := query(within, d.pool, "SELECT B FROM dbo.T WHERE A = 1"); err != nil || rows[0]["B"].(int64) != 0 {
				t.Errorf("the change stayed, or is locked: %v, %v", rows, err)
			}
		})
	}
}
