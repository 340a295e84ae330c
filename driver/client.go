package driver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"github.com/chokaq/chokaq/internal/clock"
	"github.com/chokaq/chokaq/internal/clockhook"
)

func init() {
	clockhook.Set = func(client any, c clock.Clock) { client.(*Client).clock = c }
}

// Client enqueues and cancels jobs, and is what workers are made from. It is safe for
// concurrent use.
type Client struct {
	db     *sql.DB
	owned  []*sql.DB // pools that Close closes
	worker *sql.DB   // the pool of workers' calls, so that producers cannot starve heartbeats
	clock  clock.Clock

	metrics *metrics
	tracing tracing

	mu        sync.Mutex
	listeners map[*Worker]struct{} // running workers, to be woken by an enqueue of this process
}

// Open makes a client for a data source name of go-mssqldb, such as
// "sqlserver://user:password@host:1433?database=shop" (its documentation lists every
// option). It does not connect: the first call does. The error is ErrConfig when the name
// cannot be parsed or names no database.
func Open(dsn string) (*Client, error) {
	config, err := msdsn.Parse(dsn)
	if err != nil {
		return nil, fmt.Errorf("%w: the data source name cannot be parsed: %v; accepted: sqlserver://user:password@host:1433?database=name", ErrConfig, err)
	}
	if config.Database == "" {
		return nil, fmt.Errorf("%w: the data source name names no database, or is not one; accepted: sqlserver://user:password@host:1433?database=name", ErrConfig)
	}
	if config.AppName == "" || config.AppName == "go-mssqldb" {
		config.AppName = "chokaq"
	}
	client := NewClient(sql.OpenDB(mssql.NewConnectorConfig(config)))
	client.worker = sql.OpenDB(mssql.NewConnectorConfig(config))
	client.owned = []*sql.DB{client.db, client.worker}
	return client, nil
}

// NewClient makes a client that uses a pool of yours. Workers made from it use the same pool: let it open at
// least eight connections more than your own code needs, or heartbeats may have to wait for one.
func NewClient(db *sql.DB) *Client {
	c := &Client{db: db, worker: db, clock: clock.Real(), listeners: make(map[*Worker]struct{})}
	if err := c.SetTelemetry(Telemetry{}); err != nil { // the names of instruments that a test has checked
		panic(fmt.Sprintf("chokaq: %v", err))
	}
	return c
}

// DB is the client's connection pool.
func (c *Client) DB() *sql.DB { return c.db }

// Close closes the pools that Open made; a pool given to NewClient stays open.
func (c *Client) Close() error {
	var errs []error
	for _, db := range c.owned {
		errs = append(errs, db.Close())
	}
	return errors.Join(errs...)
}

// Check calls chokaq.GetInstallation and reports whether this program and the database fit together: nil, an ErrSchema
// that says what to run, or the error of the call.
func (c *Client) Check(ctx context.Context) error {
	_, err := checkInstallation(ctx, c.procedures(c.db))
	return err
}

// Wake lets the workers of this process look at once for jobs and for ticks of recurring jobs: for after an enqueue that did not go through this
// client, such as T-SQL of your own. Without it they find out when they look next.
func (c *Client) Wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.listeners {
		w.claimer.wake()
		signal(w.ticker.woken)
	}
}

func (c *Client) procedures(db *sql.DB) *procedures {
	return &procedures{db: db, clock: c.clock, metrics: c.metrics}
}

// notify wakes the workers of this process that serve one of the queues.
func (c *Client) notify(queues map[string]struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.listeners {
		if w.serves(queues) {
			w.claimer.wake()
		}
	}
}

func (c *Client) listen(w *Worker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listeners[w] = struct{}{}
}

func (c *Client) unlisten(w *Worker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.listeners, w)
}
