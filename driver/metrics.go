package driver

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// maxLabelPairs bounds the pairs of queue and job type that metrics tell apart: what comes after them counts as "_other". Producers choose both, and
// a label for every user or order would be the end of the metrics store.
const maxLabelPairs = 500

// metrics are the instruments that are updated as things happen. What is observed now and then is in gauges.go.
type metrics struct {
	meter metric.Meter

	enqueued, claimed, started, completed, retried, dead, released, refused, lost, ticks, callErrors metric.Int64Counter
	handlerDuration, pickupLatency, callDuration                                                     metric.Float64Histogram

	mu     sync.Mutex
	labels map[labelKey]*labels
	pairs  map[[2]string]bool // of queue and job type, that have labels of their own
}

// labelKey is a queue and job type, and perhaps one attribute more.
type labelKey struct{ queue, jobType, name, value string }

// labels are options that are made once: a job passes by half a dozen instruments.
type labels struct {
	add    []metric.AddOption
	record []metric.RecordOption
}

// Buckets in seconds: handlers run from milliseconds to hours, calls of the database for milliseconds.
var (
	handlerBuckets = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}
	pickupBuckets  = []float64{0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14400, 86400}
	callBuckets    = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15}
)

func newMetrics(provider metric.MeterProvider) (*metrics, error) {
	m := &metrics{meter: provider.Meter(instrumentation), labels: make(map[labelKey]*labels), pairs: make(map[[2]string]bool)}
	var faults []error
	counter := func(name, unit, description string) metric.Int64Counter {
		c, err := m.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
		faults = append(faults, err)
		return c
	}
	histogram := func(name, description string, buckets []float64) metric.Float64Histogram {
		h, err := m.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description), metric.WithExplicitBucketBoundaries(buckets...))
		faults = append(faults, err)
		return h
	}
	m.enqueued = counter("chokaq.jobs.enqueued", "{job}", "Jobs that this process has enqueued; in transactions of the caller, whether they commit or not.")
	m.claimed = counter("chokaq.jobs.claimed", "{job}", "Jobs that claims have returned.")
	m.started = counter("chokaq.jobs.started", "{job}", "Attempts started.")
	m.completed = counter("chokaq.jobs.completed", "{job}", "Jobs completed, as stored by the database.")
	m.retried = counter("chokaq.jobs.retried", "{job}", "Attempts that failed and will be tried again, as stored by the database.")
	m.dead = counter("chokaq.jobs.dead", "{job}", "Jobs that went to the dead-letter queue by this worker's report, by reason.")
	m.released = counter("chokaq.jobs.released", "{job}", "Prefetched jobs given back by a stop.")
	m.refused = counter("chokaq.jobs.refused", "{job}", "Starts and outcomes that the database refused because the claim token was no longer the job's, by operation.")
	m.lost = counter("chokaq.jobs.lost", "{job}", "Jobs that were found lost to recovery, or distrusted because no heartbeat could be stored.")
	m.ticks = counter("chokaq.recurring.ticks", "{tick}", "Ticks of recurring jobs that this worker has enqueued.")
	m.callErrors = counter("chokaq.database.call.errors", "{call}", "Calls of procedures that failed, by procedure and SQL Server's error number (connection: there was none).")
	m.handlerDuration = histogram("chokaq.handler.duration", "How long handlers ran, by what became of the attempt.", handlerBuckets)
	m.pickupLatency = histogram("chokaq.pickup.latency", "Time from when a job was due to when it started.", pickupBuckets)
	m.callDuration = histogram("chokaq.database.call.duration", "Duration of calls of procedures, by procedure.", callBuckets)
	return m, errors.Join(faults...)
}

// of is the labels of a queue and job type, with one attribute more if it has a name.
func (m *metrics) of(queue, jobType, name, value string) *labels {
	key := labelKey{queue, jobType, name, value}
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.labels[key]; l != nil {
		return l
	}
	if pair := [2]string{queue, jobType}; !m.pairs[pair] {
		if len(m.pairs) < maxLabelPairs {
			m.pairs[pair] = true
		} else if key.queue, key.jobType = "_other", "_other"; m.labels[key] != nil {
			return m.labels[key]
		}
	}
	attributes := []attribute.KeyValue{attribute.String("queue", key.queue), attribute.String("job_type", key.jobType)}
	if name != "" {
		attributes = append(attributes, attribute.String(name, value))
	}
	option := metric.WithAttributeSet(attribute.NewSet(attributes...))
	l := &labels{[]metric.AddOption{option}, []metric.RecordOption{option}}
	m.labels[key] = l
	return l
}

func (m *metrics) count(counter metric.Int64Counter, job JobInfo) {
	counter.Add(context.Background(), 1, m.of(job.Queue, job.Type, "", "").add...)
}

func (m *metrics) countAs(counter metric.Int64Counter, job JobInfo, name, value string) {
	counter.Add(context.Background(), 1, m.of(job.Queue, job.Type, name, value).add...)
}

// began records the start of an attempt: how long the job had been due, by the database's clock until it was fetched and by this process's since.
func (m *metrics) began(job *heldJob, now time.Duration) {
	m.count(m.started, job.info)
	latency := max(job.info.FetchedAt.Sub(job.info.DueAt), 0) + max(now-job.claimedAt, 0)
	m.pickupLatency.Record(context.Background(), latency.Seconds(), m.of(job.info.Queue, job.info.Type, "", "").record...)
}

// ended records what the database made of an attempt.
func (m *metrics) ended(o outcome, result string) {
	info := o.job.info
	outcome := "completed"
	switch strings.TrimPrefix(result, "Already") {
	case "Completed":
		m.count(m.completed, info)
	case "Retried":
		outcome = "retried"
		m.count(m.retried, info)
	case "Dead":
		outcome = "dead"
		m.countAs(m.dead, info, "reason", deadReason(o))
	default:
		outcome = "refused"
		m.countAs(m.refused, info, "operation", "outcome")
	}
	m.handlerDuration.Record(context.Background(), o.duration.Seconds(), m.of(info.Queue, info.Type, "outcome", outcome).record...)
}

func deadReason(o outcome) string {
	if o.failure == nil || o.failure.Reason == "" {
		return "Failed"
	}
	return o.failure.Reason
}

// called records a call of a procedure.
func (m *metrics) called(procedure string, took time.Duration, err error) {
	label := attribute.String("procedure", strings.TrimPrefix(procedure, "chokaq."))
	m.callDuration.Record(context.Background(), took.Seconds(), metric.WithAttributes(label))
	if err != nil {
		kind := "connection"
		if number := sqlNumber(err); number != 0 {
			kind = strconv.Itoa(int(number))
		}
		m.callErrors.Add(context.Background(), 1, metric.WithAttributes(label, attribute.String("error_type", kind)))
	}
}

// enqueuedAll counts what an enqueue has inserted.
func (m *metrics) enqueuedAll(elements []enqueueElement, answers []Enqueued) {
	for i, a := range answers {
		if a.Created {
			m.enqueued.Add(context.Background(), 1, m.of(elements[i].Queue, elements[i].Type, "", "").add...)
		}
	}
}
