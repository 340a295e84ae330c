package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	prometheusexporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/zap"

	"github.com/chokaq/chokaq/driver"
)

// telemetry is where run reports to: a registry for Prometheus, and a collector of traces where the environment names one.
type telemetry struct {
	registry *prometheus.Registry
	meters   *metric.MeterProvider
	traces   *trace.TracerProvider // nil: none
}

// flushWithin bounds the last sending of traces, after the worker has stopped.
const flushWithin = 2 * time.Second

// newTelemetry makes it. Traces go out by OTLP over HTTP where OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set; these and the other
// variables are OpenTelemetry's own: https://opentelemetry.io/docs/specs/otel/protocol/exporter/.
func (a *app) newTelemetry(ctx context.Context, logger *zap.Logger) (*telemetry, error) {
	var once sync.Once // a collector that is away fails every few seconds
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		once.Do(func() {
			logger.Warn("traces or metrics cannot be sent; this is said once, jobs are not affected", zap.String("event", "telemetry.failed"), zap.Error(err))
		})
	}))
	t := &telemetry{registry: prometheus.NewRegistry()}
	t.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	exporter, err := prometheusexporter.New(prometheusexporter.WithRegisterer(t.registry), prometheusexporter.WithoutScopeInfo())
	if err != nil {
		return nil, fmt.Errorf("preparing the metrics: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "chokaq-worker"), attribute.String("service.version", version)),
		resource.WithFromEnv(), resource.WithHost(), resource.WithTelemetrySDK())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	t.meters = metric.NewMeterProvider(metric.WithReader(exporter), metric.WithResource(about))
	if a.variable("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || a.variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" {
		sender, err := otlptracehttp.New(ctx)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
		}
		t.traces = trace.NewTracerProvider(trace.WithBatcher(sender), trace.WithResource(about))
	}
	return t, nil
}

// forDriver is what the client reports by.
func (t *telemetry) forDriver() driver.Telemetry {
	d := driver.Telemetry{MeterProvider: t.meters}
	if t.traces != nil {
		d.TracerProvider = t.traces
	}
	return d
}

// stop sends what is left.
func (t *telemetry) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), flushWithin)
	defer cancel()
	err := t.meters.Shutdown(ctx)
	if t.traces != nil {
		err = errors.Join(err, t.traces.Shutdown(ctx))
	}
	return err
}
