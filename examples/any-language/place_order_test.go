package anylanguage_test

import (
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/chokaq/chokaq/driver"
	"github.com/chokaq/chokaq/examples/internal/exampledb"
	"github.com/chokaq/chokaq/examples/shop"
)

// newShop is a database with the application's tables.
func newShop(t *testing.T) (dsn string, client *driver.Client) {
	t.Helper()
	dsn = exampledb.New(t)
	client, err := driver.Open(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	if err := shop.Install(t.Context(), client.DB()); err != nil {
		t.Fatal(err)
	}
	return dsn, client
}

// wantOne checks that there is one order and one job, which is what the Go application would have enqueued.
func wantOne(t *testing.T, client *driver.Client) {
	t.Helper()
	if n := exampledb.Count(t, client.DB(), "SELECT COUNT(*) FROM dbo.Orders WHERE OrderId = 42"); n != 1 {
		t.Errorf("%d orders", n)
	}
	if n := exampledb.Count(t, client.DB(), `SELECT COUNT(*) FROM chokaq.Jobs WHERE Queue = N'mail' AND JobType = N'send_receipt' AND IdempotencyKey = N'order-42' AND State = 0
		AND JSON_VALUE(Payload, '$.order') = N'42' AND JSON_VALUE(Payload, '$.email') = N'ada@example.com'`); n != 1 {
		t.Errorf("%d jobs", n)
	}
}

func TestPlaceOrderSQL(t *testing.T) {
	_, client := newShop(t)
	script, err := os.ReadFile("place_order.sql")
	if err != nil {
		t.Fatal(err)
	}
	var jobID int64
	var created bool
	if err := client.DB().QueryRowContext(t.Context(), string(script)).Scan(&jobID, &created); err != nil {
		t.Fatal(err)
	}
	if jobID == 0 || !created {
		t.Errorf("job %d, created %v", jobID, created)
	}
	wantOne(t, client)
	if _, err := client.DB().ExecContext(t.Context(), string(script)); err == nil || !strings.Contains(err.Error(), "duplicate key") { // the order is there already
		t.Errorf("the same again: %v", err)
	}
	wantOne(t, client)
}

func TestPlaceOrderWithFreeTDS(t *testing.T) {
	if _, err := exec.LookPath("bsqldb"); err != nil {
		t.Skip("FreeTDS (bsqldb) is not installed")
	}
	dsn, client := newShop(t)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	port := u.Port()
	if port == "" {
		port = "1433"
	}
	run := func() (string, error) {
		script := exec.CommandContext(t.Context(), "./place_order.sh")
		script.Env = append(os.Environ(), "DB_HOST="+u.Hostname(), "DB_PORT="+port, "DB_USER="+u.User.Username(), "DB_PASSWORD="+password, "DB_NAME="+u.Query().Get("database"))
		out, err := script.CombinedOutput()
		return string(out), err
	}
	if out, err := run(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	wantOne(t, client)
	if out, err := run(); err == nil {
		t.Errorf("the same again is no error: %s", out)
	}
	wantOne(t, client)
}
