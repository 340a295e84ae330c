package driver_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/chokaq/chokaq/db"
	"github.com/chokaq/chokaq/driver"
	"github.com/chokaq/chokaq/internal/sqlsim"
)

// theSim is the server of the examples; the first that needs it starts it.
var theSim = sync.OnceValue(func() *sqlsim.Server {
	server, err := sqlsim.Start(sqlsim.Options{NoAgent: true})
	if err != nil {
		panic(err)
	}
	started = server
	return server
})

var started *sqlsim.Server

func TestMain(m *testing.M) {
	code := m.Run()
	if started != nil {
		if err := started.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// openExample is a client of a new database with ChokaQ in it.
func openExample(ctx context.Context) *driver.Client {
	name := "example_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	master, err := driver.Open(theSim().DSN("master"))
	if err != nil {
		panic(err)
	}
	defer master.Close()
	if _, err := master.DB().ExecContext(ctx, "CREATE DATABASE "+name); err != nil {
		panic(err)
	}
	if err := (db.Installer{DSN: theSim().DSN(name)}).Up(ctx); err != nil {
		panic(err)
	}
	client, err := driver.Open(theSim().DSN(name))
	if err != nil {
		panic(err)
	}
	return client
}
