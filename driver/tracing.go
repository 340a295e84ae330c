package driver

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// tracing makes the spans: one for each enqueue within a trace, one for each attempt, linked to the producer's. Names and attributes follow
// OpenTelemetry's semantic conventions for messaging (https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/).
type tracing struct {
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
}

func messaging(operation, kind, queue string) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("messaging.system", "chokaq"),
		attribute.String("messaging.operation.name", operation), attribute.String("messaging.operation.type", kind),
		attribute.String("messaging.destination.name", queue),
	}
}

// enqueueing begins the span of an enqueue and puts its context into the headers of the jobs. Where there is no trace to belong to, it does
// neither. end is to be called with the result.
func (t tracing) enqueueing(ctx context.Context, elements []enqueueElement) (context.Context, func(error)) {
	if len(elements) == 0 || !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, func(error) {}
	}
	attributes := append(messaging("enqueue", "send", elements[0].Queue), attribute.Int("messaging.batch.message_count", len(elements)))
	if len(elements) == 1 {
		attributes = append(attributes, attribute.String("chokaq.job.type", elements[0].Type))
	}
	ctx, span := t.tracer.Start(ctx, "enqueue "+elements[0].Queue, trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(attributes...))
	carrier := propagation.MapCarrier{}
	t.propagator.Inject(ctx, carrier)
	for i := range elements {
		headers := maps.Clone(carrier)
		maps.Copy(headers, elements[i].Headers) // what the producer has set itself counts
		elements[i].Headers = headers
	}
	return ctx, func(err error) {
		fail(span, err)
		span.End()
	}
}

// attempting begins the span of an attempt, a trace of its own, linked to the producer's.
func (t tracing) attempting(ctx context.Context, job JobInfo) (context.Context, trace.Span) {
	ctx, span := t.tracer.Start(ctx, "process "+job.Type, attemptOptions...)
	if !span.IsRecording() { // nobody looks: cost nothing
		return ctx, span
	}
	span.SetAttributes(append(messaging("process", "process", job.Queue),
		attribute.Int64("chokaq.job.id", job.ID), attribute.String("chokaq.job.type", job.Type), attribute.Int("chokaq.job.attempt", job.Attempt))...)
	if producer := trace.SpanContextFromContext(t.propagator.Extract(context.Background(), headerCarrier(job.Headers))); producer.IsValid() {
		span.AddLink(trace.Link{SpanContext: producer})
	}
	return ctx, span
}

var attemptOptions = []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindConsumer)}

// endAttempt ends the span of an attempt.
func endAttempt(span trace.Span, err, cause error) {
	if err != nil && cause != nil {
		span.SetAttributes(attribute.String("chokaq.canceled_by", cause.Error()))
	}
	fail(span, err)
	span.End()
}

func fail(span trace.Span, err error) {
	if err == nil {
		return
	}
	text := errorText(err)
	span.RecordError(errors.New(text))
	span.SetStatus(codes.Error, text)
}

// headerCarrier reads a job's headers. Those that are not strings are none of its business.
func headerCarrier(headers json.RawMessage) propagation.MapCarrier {
	var all map[string]any
	carrier := propagation.MapCarrier{}
	if json.Unmarshal(headers, &all) != nil {
		return carrier
	}
	for name, value := range all {
		if text, ok := value.(string); ok {
			carrier[name] = text
		}
	}
	return carrier
}
