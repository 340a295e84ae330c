//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/chokaq/chokaq/driver"
	"github.com/chokaq/chokaq/examples/internal/exampledb"
	"github.com/chokaq/chokaq/examples/shop"
)

const runAsExample = "RUN_AS_EMBEDDED_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(runAsExample) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// SIGTERM in the middle of work: what runs is finished, the rest is given back, nothing is left, and the status is 0.
func TestSIGTERMStopsGracefully(t *testing.T) {
	dsn := exampledb.New(t)
	client, err := driver.Open(dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := shop.Install(t.Context(), client.DB()); err != nil {
		t.Fatal(err)
	}
	const orders = 60
	for order := range orders {
		if err := shop.PlaceOrder(t.Context(), client, order, fmt.Sprintf("customer%d@example.com", order)); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	worker := exec.CommandContext(t.Context(), self)
	worker.Env = append(os.Environ(), runAsExample+"=1", "SHOP_DSN="+dsn)
	worker.Stdout, worker.Stderr = &output, &output
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- worker.Wait() }()
	for exampledb.Count(t, client.DB(), "SELECT COUNT(*) FROM dbo.Receipts") == 0 {
		select {
		case err := <-ended:
			t.Fatalf("it ended by itself: %v\n%s", err, &output)
		case <-time.After(5 * time.Millisecond): // a pause between two looks
		}
	}
	if err := worker.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatalf("%v\n%s", err, &output)
	}
	count := func(query string) int { return exampledb.Count(t, client.DB(), query) }
	completed, pending := count("SELECT COUNT(*) FROM chokaq.JobsArchive"), count("SELECT COUNT(*) FROM chokaq.Jobs WHERE State = 0 AND Attempt = 0")
	if completed == 0 || completed+pending != orders {
		t.Errorf("%d completed and %d given back, of %d\n%s", completed, pending, orders, &output)
	}
	if sent := count("SELECT COUNT(*) FROM dbo.Receipts"); sent != completed {
		t.Errorf("%d receipts sent, %d jobs completed", sent, completed)
	}
	if !bytes.Contains(output.Bytes(), []byte(`"event":"shutdown.stopped"`)) || !bytes.Contains(output.Bytes(), []byte(`"msg":"attempt"`)) {
		t.Errorf("the log is\n%s", &output)
	}
}
