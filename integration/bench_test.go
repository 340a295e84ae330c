package integration

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chokaq/chokaq/db"
	"github.com/chokaq/chokaq/driver"
	"github.com/chokaq/chokaq/internal/sqlsim"
)

// serverVariable makes the test binary a server: benchmarks want it in a process of its own, so that what they measure is the worker.
const serverVariable = "CHOKAQ_BENCH_SERVER"

// serve runs sqlsim until its standard input ends.
func serve() {
	sim, err := sqlsim.Start(sqlsim.Options{NoAgent: true})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println(sim.DSN("master"))
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	_ = sim.Close()
}

// benchDatabase is a database on a server in another process, or on the one in CHOKAQ_TEST_DSN.
func benchDatabase(b *testing.B) *database {
	b.Helper()
	base := os.Getenv("CHOKAQ_TEST_DSN")
	if base == "" {
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), serverVariable+"=1")
		in, err := command.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := command.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := command.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			in.Close()
			_ = command.Wait()
		})
		if base, err = bufio.NewReader(out).ReadString('\n'); err != nil {
			b.Fatal(err)
		}
		base = strings.TrimSpace(base)
	}
	b.Setenv("CHOKAQ_TEST_DSN", base)
	name := "chokaq_bench_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	admin, err := sql.Open("sqlserver", base)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := admin.Exec("CREATE DATABASE " + name); err != nil {
		b.Fatal(err)
	}
	dsn := strings.Replace(base, "database=master", "database="+name, 1)
	if dsn == base {
		dsn += "&database=" + name
	}
	d := &database{name: name, dsn: dsn}
	if err := (db.Installer{DSN: dsn}).Up(context.Background()); err != nil {
		b.Fatal(err)
	}
	if d.pool, err = sql.Open("sqlserver", dsn); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		d.pool.Close()
		_, _ = admin.Exec("ALTER DATABASE " + name + " SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE " + name)
		admin.Close()
	})
	return d
}

// BenchmarkClaim measures claims of 100 jobs by ten sessions at once: an operation is one claim.
func BenchmarkClaim(b *testing.B) {
	d := benchDatabase(b)
	for first := 1; first <= b.N*100; first += 100_000 {
		fill(b, d, first, min(100_000, b.N*100-first+1), 0, 0, 0)
	}
	claims := make(chan struct{}, b.N)
	for range b.N {
		claims <- struct{}{}
	}
	close(claims)
	b.ResetTimer()
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			worker := uuid.New()
			for range claims {
				rows, err := query(context.Background(), d.pool, "chokaq.ClaimJobs", workerArg(worker), sql.Named("ClaimToken", guid(uuid.New())),
					sql.Named("Queues", `["q"]`), sql.Named("MaxJobs", 100))
				if err != nil || len(rows) == 0 {
					b.Errorf("claimed %d: %v", len(rows), err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims/s")
	b.ReportMetric(float64(100*b.N)/b.Elapsed().Seconds(), "jobs/s")
}

// BenchmarkWorker measures a whole worker at saturation: an operation is one job, claimed, started, run, and completed, in batches of 100.
func BenchmarkWorker(b *testing.B) {
	d := benchDatabase(b)
	for first := 1; first <= b.N; first += 100_000 {
		fill(b, d, first, min(100_000, b.N-first+1), 0, 0, 0)
	}
	runWorker(b, d, b.N)
}

// BenchmarkWorkerMemory is the same with 100,000 jobs pending behind it; it reports the worker process's resident memory.
func BenchmarkWorkerMemory(b *testing.B) {
	d := benchDatabase(b)
	fill(b, d, 1, 100_000, 0, 0, 0)
	runWorker(b, d, min(b.N, 100_000))
	if resident := residentMiB(b); resident > 0 {
		b.ReportMetric(resident, "MiB-resident")
	}
}

// runWorker runs a worker until it has run n jobs.
func runWorker(b *testing.B, d *database, n int) {
	client, err := driver.Open(d.dsn)
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	worker, err := driver.NewWorker(client, driver.WorkerConfig{Queues: []string{"q"}, Handlers: 100, Prefetch: 200}, nil)
	if err != nil {
		b.Fatal(err)
	}
	var mu sync.Mutex
	ran, done := 0, make(chan struct{})
	driver.Handle(worker, "t", func(context.Context, *driver.Job[job]) error {
		mu.Lock()
		defer mu.Unlock()
		if ran++; ran == n {
			close(done)
		}
		return nil
	})
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	result := make(chan error, 1)
	b.ReportAllocs()
	b.ResetTimer()
	go func() { result <- worker.Run(ctx) }()
	select {
	case <-done:
	case err := <-result:
		b.Fatal(err)
	case <-time.After(10 * time.Minute):
		b.Fatal("the worker does not get on")
	}
	calls, started := worker.Stats().DatabaseCalls, worker.Stats().Started
	b.StopTimer()
	stop()
	if err := <-result; err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "jobs/s")
	b.ReportMetric(float64(calls)/float64(started), "dbcalls/job")
}

// residentMiB is the resident memory of this process; 0 where the system does not tell.
func residentMiB(b *testing.B) float64 {
	text, err := os.ReadFile(filepath.Join("/proc", "self", "status"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			if err != nil {
				b.Fatal(err)
			}
			return kib / 1024
		}
	}
	return 0
}
