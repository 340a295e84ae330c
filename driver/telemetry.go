package driver

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// instrumentation is the name of ChokaQ's meter and tracer.
const instrumentation = "github.com/chokaq/chokaq/driver"

// Telemetry says where a client and the workers made from it report to, by the OpenTelemetry API. docs/observability.md lists every metric and span.
type Telemetry struct {
	// MeterProvider gets the metrics. Default: otel.GetMeterProvider().
	MeterProvider metric.MeterProvider
	// TracerProvider gets a span for each enqueue that has a parent, and for each attempt of a job, linked to the producer's. Default:
	// otel.GetTracerProvider().
	TracerProvider trace.TracerProvider
	// Propagator carries the trace context through the job's headers. Default: W3C Trace Context (header traceparent).
	Propagator propagation.TextMapPropagator
}

// SetTelemetry changes where the client reports to. Call it before anything is enqueued and before NewWorker.
func (c *Client) SetTelemetry(t Telemetry) error {
	if t.MeterProvider == nil {
		t.MeterProvider = otel.GetMeterProvider()
	}
	if t.TracerProvider == nil {
		t.TracerProvider = otel.GetTracerProvider()
	}
	if t.Propagator == nil {
		t.Propagator = propagation.TraceContext{}
	}
	metrics, err := newMetrics(t.MeterProvider)
	if err != nil {
		return err
	}
	c.metrics, c.tracing = metrics, tracing{t.TracerProvider.Tracer(instrumentation), t.Propagator}
	return nil
}
