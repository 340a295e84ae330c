package integration

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"github.com/chokaq/chokaq/driver"
)

// collected is the value of each series, by name and labels: "chokaq.jobs.dead{job_type=t,queue=q,reason=Rejected}". A histogram is its count.
func collected(t *testing.T, reader sdkmetric.Reader) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	values := make(map[string]float64)
	note := func(name string, labels attribute.Set, value float64) {
		var parts []string
		for _, kv := range labels.ToSlice() {
			parts = append(parts, string(kv.Key)+"="+kv.Value.String())
		}
		values[name+"{"+strings.Join(parts, ",")+"}"] = value
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					note(m.Name, p.Attributes, float64(p.Value))
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					note(m.Name, p.Attributes, float64(p.Value))
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					note(m.Name, p.Attributes, p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					note(m.Name, p.Attributes, float64(p.Count))
				}
			default:
				t.Errorf("%s is a %T", m.Name, data)
			}
		}
	}
	return values
}

func TestTelemetry(t *testing.T) {
	d := newDatabase(t)
	reader, spans := sdkmetric.NewManualReader(), tracetest.NewInMemoryExporter()
	telemetry := driver.Telemetry{
		MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)),
	}
	client, err := driver.Open(d.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.SetTelemetry(telemetry); err != nil {
		t.Fatal(err)
	}
	worker, err := driver.NewWorker(client, quick(func(c *driver.WorkerConfig) { c.HeartbeatInterval = 20 * time.Millisecond }), zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	hold := make(chan error)
	driver.Handle(worker, "t", func(ctx context.Context, j *driver.Job[job]) error {
		if !trace.SpanContextFromContext(ctx).IsValid() {
			t.Error("the handler has no span")
		}
		switch j.Args.N {
		case 1:
			return nil
		case 2:
			return driver.Reject(errors.New("no"))
		case 3:
			return driver.RetryAfter(time.Hour, errors.New("later"))
		}
		return <-hold
	})

	ctx, span := telemetry.TracerProvider.Tracer("test").Start(t.Context(), "request")
	for n := 1; n <= 4; n++ {
		if _, err := client.Enqueue(ctx, driver.NewJob{Queue: "q", Type: "t", Args: job{n}, Headers: map[string]string{"own": "header"}}); err != nil {
			t.Fatal(err)
		}
	}
	span.End()
	run, stop := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- worker.Run(run) }()

	labels := "{job_type=t,queue=q"
	var got map[string]float64
	eventually(t, "three jobs have ended, and what the database says of queues and recovery is known", func() bool {
		got = collected(t, reader)
		_, recovery := got["chokaq.recovery.late{}"] // what is older than four heartbeats is not reported
		return recovery && got["chokaq.jobs.completed"+labels+"}"] == 1 && got["chokaq.jobs.dead"+labels+",reason=Rejected}"] == 1 && got["chokaq.jobs.retried"+labels+"}"] == 1 &&
			got["chokaq.handlers.running{}"] == 1 && got["chokaq.queue.jobs{queue=q,state=dead}"] == 1 && got["chokaq.queue.jobs{queue=q,state=scheduled}"] == 1 && got["chokaq.queue.jobs{queue=q,state=processing}"] == 1
	})
	for name, want := range map[string]float64{
		"chokaq.jobs.enqueued" + labels + "}": 4, "chokaq.jobs.claimed" + labels + "}": 4, "chokaq.jobs.started" + labels + "}": 4, "chokaq.pickup.latency" + labels + "}": 4,
		"chokaq.handler.duration{job_type=t,outcome=completed,queue=q}": 1, "chokaq.handler.duration{job_type=t,outcome=dead,queue=q}": 1, "chokaq.handler.duration{job_type=t,outcome=retried,queue=q}": 1,
		"chokaq.worker.ready{}": 1, "chokaq.shutdown.step{}": 0, "chokaq.recovery.late{}": 0, "chokaq.handlers.slots{}": 10, "chokaq.prefetch.used{}": 0, "chokaq.prefetch.room{}": 20,
		"chokaq.outcomes.waiting{}": 0, "chokaq.queue.paused{queue=q}": 0, "chokaq.queue.dead{queue=q,reason=Rejected}": 1, "chokaq.queue.dead{queue=q,reason=Zombie}": 0, "chokaq.queue.oldest_due.age{queue=q}": 0,
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s is %v (%v), want %v", name, value, ok, want)
		}
	}
	for _, name := range []string{"chokaq.database.call.duration{procedure=ClaimJobs}", "chokaq.database.call.duration{procedure=CompleteJobs}", "chokaq.recovery.age{procedure=RescueZombieJobs}", "chokaq.heartbeat.age{}"} {
		if _, ok := got[name]; !ok {
			t.Errorf("there is no %s among %v", name, slices.Sorted(maps.Keys(got)))
		}
	}

	// The trace: what was enqueued carries the producer's context, each attempt is linked to it, and the headers of the producer stay.
	headers := mustQuery(t, d.pool, "SELECT JSON_VALUE(a.Headers, '$.traceparent') AS Parent, JSON_VALUE(a.Headers, '$.own') AS Own FROM chokaq.JobsArchive AS a")[0]
	if parent, _ := headers["Parent"].(string); !strings.Contains(parent, span.SpanContext().TraceID().String()) || headers["Own"] != "header" {
		t.Errorf("headers are %v", headers)
	}
	statuses := make(map[codes.Code]int)
	for _, s := range spans.GetSpans() {
		if s.Name != "process t" {
			continue
		}
		statuses[s.Status.Code]++
		if len(s.Links) != 1 || s.Links[0].SpanContext.TraceID() != span.SpanContext().TraceID() || s.SpanContext.TraceID() == span.SpanContext().TraceID() || s.SpanKind != trace.SpanKindConsumer {
			t.Errorf("the span of an attempt: %+v", s)
		}
	}
	if statuses[codes.Error] != 2 || statuses[codes.Unset] != 1 {
		t.Errorf("spans of attempts: %v", statuses)
	}

	stop()
	eventually(t, "it drains", func() bool { return collected(t, reader)["chokaq.shutdown.step{}"] >= 5 })
	if got := collected(t, reader); got["chokaq.worker.ready{}"] != 0 {
		t.Error("a draining worker is ready")
	}
	hold <- nil
	if err := <-result; err != nil {
		t.Error(err)
	}
	for name := range collected(t, reader) {
		if strings.HasPrefix(name, "chokaq.worker.ready") {
			t.Errorf("a stopped worker still reports %s", name)
		}
	}
}

// Producers choose queues and types: what they choose does not become ever more series.
func TestLabelsAreBounded(t *testing.T) {
	d := newDatabase(t)
	reader := sdkmetric.NewManualReader()
	client := d.client(t)
	if err := client.SetTelemetry(driver.Telemetry{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))}); err != nil {
		t.Fatal(err)
	}
	var jobs []driver.NewJob
	for n := range 700 {
		jobs = append(jobs, driver.NewJob{Queue: "q", Type: fmt.Sprint("order ", n)})
	}
	if _, err := client.EnqueueMany(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
	got := collected(t, reader)
	if len(got) != 501 || got["chokaq.jobs.enqueued{job_type=_other,queue=_other}"] != 200 {
		t.Errorf("%d series, %v of them other", len(got), got["chokaq.jobs.enqueued{job_type=_other,queue=_other}"])
	}
}

// An operator changes the number of handlers of a running worker, and it says when nobody runs recovery.
func TestAWorkerDoesWhatItIsTold(t *testing.T) {
	d := newDatabase(t)
	mustExec(t, d.pool, "UPDATE chokaq.SchemaObjects SET AppliedAt = DATEADD(HOUR, -1, AppliedAt)")
	w := startWorker(t, d.dsn, quick(func(c *driver.WorkerConfig) { c.Handlers, c.HeartbeatInterval = 2, 10*time.Millisecond }), func(context.Context, *driver.Job[job]) error { return nil })
	eventually(t, "it says that recovery is late", func() bool { return w.logged("recovery.late") == 1 && w.Status().RecoveryLate })
	if !w.Status().Ready {
		t.Error("late recovery makes the worker unready")
	}
	mustQuery(t, d.pool, "chokaq.ResetFetchedJobs")
	mustQuery(t, d.pool, "chokaq.RescueZombieJobs")
	eventually(t, "it says that recovery runs again", func() bool { return w.logged("recovery.in_time") == 1 && !w.Status().RecoveryLate })
	set := func(n any) {
		mustQuery(t, d.pool, "chokaq.SetWorkerHandlers", workerArg(w.ID()), sql.Named("Handlers", n))
	}
	set(5)
	eventually(t, "it has five handlers", func() bool { return w.Handlers() == 5 })
	if err := w.SetHandlers(7); err != nil { // the program's own wish stays until an operator says something new
		t.Error(err)
	}
	set(1)
	eventually(t, "it has one handler", func() bool { return w.Handlers() == 1 })
	set(nil)
	eventually(t, "it has its own number again", func() bool { return w.Handlers() == 2 })
	if n := w.logged("recovery.late"); n != 1 {
		t.Errorf("said %d times that recovery is late", n)
	}
}
