package integration

import (
	"context"
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	prometheusexporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/zap"

	"github.com/chokaq/chokaq/driver"
)

// docTable returns the rows of the table in a document whose first column has a title, as texts in backticks by column.
func docTable(t *testing.T, document, title string) [][][]string {
	t.Helper()
	text, err := os.ReadFile("../docs/" + document)
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "\n| "+title+" |")
	if !ok {
		t.Fatalf("docs/%s has no table %q", document, title)
	}
	quoted := regexp.MustCompile("`([^`]+)`")
	var rows [][][]string
	for _, line := range strings.Split(table, "\n")[2:] {
		if !strings.HasPrefix(line, "|") {
			break
		}
		var row [][]string
		for _, cell := range strings.Split(strings.Trim(line, "| "), "|") {
			var words []string
			for _, match := range quoted.FindAllStringSubmatch(cell, -1) {
				words = append(words, match[1])
			}
			row = append(row, words)
		}
		rows = append(rows, row)
	}
	return rows
}

// A worker that goes through everything reports the metrics and spans of docs/observability.md, with these labels, and no others.
func TestObservabilityIsDocumented(t *testing.T) {
	d := newDatabase(t)
	reader, spans, registry := sdkmetric.NewManualReader(), tracetest.NewInMemoryExporter(), prometheus.NewRegistry()
	exporter, err := prometheusexporter.New(prometheusexporter.WithRegisterer(registry), prometheusexporter.WithoutScopeInfo(), prometheusexporter.WithoutTargetInfo())
	if err != nil {
		t.Fatal(err)
	}
	telemetry := driver.Telemetry{
		MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithReader(exporter)),
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)),
	}
	client := d.client(t)
	if err := client.SetTelemetry(telemetry); err != nil {
		t.Fatal(err)
	}
	worker, err := driver.NewWorker(client, quick(func(c *driver.WorkerConfig) { c.HeartbeatInterval = 20 * time.Millisecond }), zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	driver.Handle(worker, "t", func(ctx context.Context, j *driver.Job[job]) error {
		switch j.Args.N {
		case 1:
			return nil
		case 2:
			return driver.Reject(errors.New("no"))
		case 3:
			return driver.RetryAfter(time.Hour, errors.New("later"))
		}
		<-ctx.Done()
		return ctx.Err()
	})
	// What has been seen, while the worker runs and after it.
	otel, prom, labels := make(map[string]bool), make(map[string]string), make(map[string]map[string]bool)
	look := func() {
		t.Helper()
		for series := range collected(t, reader) {
			name, _, _ := strings.Cut(series, "{")
			otel[name] = true
		}
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			prom[f.GetName()] = strings.ToLower(f.GetType().String())
			if labels[f.GetName()] == nil {
				labels[f.GetName()] = make(map[string]bool)
			}
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					labels[f.GetName()][l.GetName()] = true
				}
			}
		}
	}

	ctx, span := telemetry.TracerProvider.Tracer("test").Start(t.Context(), "request")
	for n := 1; n <= 4; n++ {
		if _, err := client.Enqueue(ctx, driver.NewJob{Queue: "q", Type: "t", Args: job{n}}); err != nil {
			t.Fatal(err)
		}
	}
	span.End()
	if _, err := client.SetRecurringJob(t.Context(), driver.RecurringJob{Name: "r", Cron: "@hourly", Job: driver.NewJob{Queue: "q", Type: "t", Args: job{1}}}); err != nil {
		t.Fatal(err)
	}
	mustExec(t, d.pool, "UPDATE chokaq.RecurringJobs SET NextTickAt = DATEADD(MINUTE, -5, SYSUTCDATETIME())")
	run, stop := context.WithCancel(t.Context())
	defer stop()
	result := make(chan error, 1)
	go func() { result <- worker.Run(run) }()
	eventually(t, "three jobs have ended, and the fourth runs", func() bool {
		s := worker.Stats()
		return s.Completed >= 1 && s.Dead == 1 && s.Retried == 1 && s.Ticks == 1 && worker.Status().HandlersRunning == 1
	})
	eventually(t, "the depth of the queue is known", func() bool { look(); return labels["chokaq_queue_dead"] != nil })
	mustExec(t, d.pool, "DELETE FROM chokaq.Jobs WHERE State = 2") // a heartbeat finds it lost, and its outcome is refused
	mustExec(t, d.pool, "DROP PROCEDURE chokaq.GetWorkerControl")  // a call that fails
	eventually(t, "a job is lost, its outcome is refused, and a call fails", func() bool {
		look()
		return labels["chokaq_jobs_lost_total"] != nil && labels["chokaq_jobs_refused_total"] != nil && labels["chokaq_database_call_errors_total"] != nil
	})
	stop()
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	look()

	var docOtel, docProm []string
	for _, row := range docTable(t, "observability.md", "OpenTelemetry") {
		name, promName := row[0][0], row[1][0]
		docOtel, docProm = append(docOtel, name), append(docProm, promName)
		if got := slices.Sorted(maps.Keys(labels[promName])); !slices.Equal(got, slices.Sorted(slices.Values(row[3]))) {
			t.Errorf("%s has the labels %q, and is documented with %q", promName, got, row[3])
		}
	}
	if got := slices.Sorted(maps.Keys(otel)); !slices.Equal(got, slices.Sorted(slices.Values(docOtel))) {
		t.Errorf("OpenTelemetry: reported %q\ndocumented %q", got, slices.Sorted(slices.Values(docOtel)))
	}
	if got := slices.Sorted(maps.Keys(prom)); !slices.Equal(got, slices.Sorted(slices.Values(docProm))) {
		t.Errorf("Prometheus: reported %q\ndocumented %q", got, slices.Sorted(slices.Values(docProm)))
	}
	text, err := os.ReadFile("../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, kind := range prom {
		if !regexp.MustCompile("`" + name + "` \\| " + kind + " \\|").Match(text) {
			t.Errorf("%s is a %s, and is not documented as one", name, kind)
		}
	}

	attributes := make(map[string]map[string]bool)
	for _, s := range spans.GetSpans() {
		verb, object, _ := strings.Cut(s.Name, " ")
		if verb == "request" {
			continue
		}
		name := verb + " " + map[string]string{"q": "QUEUE", "t": "TYPE"}[object]
		if attributes[name] == nil {
			attributes[name] = make(map[string]bool)
		}
		for _, a := range s.Attributes {
			attributes[name][string(a.Key)] = true
		}
	}
	documented := make(map[string]map[string]bool)
	for _, row := range docTable(t, "observability.md", "span") {
		set := make(map[string]bool)
		for _, a := range row[2] {
			set[a] = true
		}
		documented[row[0][0]] = set
	}
	if len(attributes) != len(documented) {
		t.Errorf("spans %v, documented %v", attributes, documented)
	}
	for name, set := range attributes {
		if !maps.Equal(set, documented[name]) {
			t.Errorf("span %s has %q, and is documented with %q", name, slices.Sorted(maps.Keys(set)), slices.Sorted(maps.Keys(documented[name])))
		}
	}
}
