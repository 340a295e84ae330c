package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/chokaq/chokaq/driver"
	"github.com/chokaq/chokaq/driver/chokaqtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

// newRunner makes a runner for a URL; headers come in pairs, with secrets from the environment given.
func newRunner(t *testing.T, address string, environment map[string]string, headers ...string) *Runner {
	t.Helper()
	target, err := ParseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if err := target.SetHeader(headers[i], headers[i+1], func(name string) (string, bool) { v, ok := environment[name]; return v, ok }); err != nil {
			t.Fatal(err)
		}
	}
	client := NewClient()
	t.Cleanup(client.CloseIdleConnections)
	return &Runner{Target: target, Client: client, Version: "1.2.3", Now: func() time.Time { return noon }}
}

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

var job = driver.JobInfo{
	ID: 17, Type: "résumé 100%", Queue: "mail", Priority: 5, Attempt: 2, MaxAttempts: 10, RequeueCount: 1, EnqueuedAt: noon.Add(-time.Minute), DueAt: noon,
	IdempotencyKey: "order-42", Payload: json.RawMessage(`{"to": "ö"}`),
	Headers: json.RawMessage(`{"TraceParent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"a=b","tenant":"x"}`),
}

func TestRequest(t *testing.T) {
	var got *http.Request
	var body string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		got, body = r, string(text)
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, strings.Repeat("x", 1<<20)) // more than is read
	})
	r := newRunner(t, server.URL+"/jobs?x=1", map[string]string{"TOKEN": "s3cret"}, "authorization", "Bearer ${TOKEN} $5")
	if err := r.Run(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if got.Method != http.MethodPost || got.URL.String() != "/jobs?x=1" || body != string(job.Payload) || got.ContentLength != int64(len(job.Payload)) {
		t.Errorf("%s %s, %q", got.Method, got.URL, body)
	}
	want := map[string]string{
		"Authorization": "Bearer s3cret $5", "Content-Type": "application/json", "User-Agent": "chokaq-worker/1.2.3",
		"Chokaq-Job-Id": "17", "Chokaq-Job-Type": "r%C3%A9sum%C3%A9 100%25", "Chokaq-Queue": "mail", "Chokaq-Attempt": "2", "Chokaq-Max-Attempts": "10", "Chokaq-Requeue-Count": "1",
		"Chokaq-Priority": "5", "Chokaq-Enqueued-At": "2027-03-01T11:59:00Z", "Chokaq-Due-At": "2027-03-01T12:00:00Z", "Chokaq-Idempotency-Key": "order-42",
		"Chokaq-Headers": string(job.Headers), "Traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "Tracestate": "a=b",
	}
	for _, name := range slices.Sorted(maps.Keys(got.Header)) {
		if name == "Accept-Encoding" || name == "Content-Length" {
			continue
		}
		if want[name] != got.Header.Get(name) {
			t.Errorf("%s: %q, want %q", name, got.Header.Get(name), want[name])
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	if back, err := url.PathUnescape(got.Header.Get("Chokaq-Job-Type")); err != nil || back != job.Type {
		t.Errorf("%q, %v", back, err)
	}
}

// A trace context that is not one is not sent, nor are headers without one.
func TestTraceContextIsChecked(t *testing.T) {
	for _, headers := range []string{"", `{}`, `{"traceparent": 17}`, `{"traceparent": "00-xyz"}`, `{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-\r\nEvil: 1"}`, `not json`} {
		header := make(http.Header)
		setJob(header, driver.JobInfo{Headers: json.RawMessage(headers)})
		for name, values := range header {
			if !strings.HasPrefix(name, "Chokaq-") || strings.ContainsAny(values[0], "\r\n") {
				t.Errorf("%s: %s is %q", headers, name, values)
			}
		}
	}
}

// Where the worker traces, the request belongs to the span of the attempt, and not to that of the producer.
func TestTheAttemptsSpanIsSent(t *testing.T) {
	var parent, state string
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		parent, state = r.Header.Get("Traceparent"), r.Header.Get("Tracestate")
	})
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	if err := newRunner(t, server.URL, nil).Run(trace.ContextWithSpanContext(t.Context(), span), job); err != nil {
		t.Fatal(err)
	}
	if parent != "00-01000000000000000000000000000000-0200000000000000-01" || state != "" {
		t.Errorf("%q, %q", parent, state)
	}
}

// What the answer makes of a job, decided by the driver and the queue.
func TestWhatTheAnswerDecides(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		retryAfter string
		date       string
		state      chokaqtest.State
		reason     string
		wait       time.Duration // 0: the backoff, of 7s
		text       []string
	}{
		"200":                       {status: 200, state: chokaqtest.Completed},
		"204":                       {status: 204, state: chokaqtest.Completed},
		"500":                       {status: 500, state: chokaqtest.Pending, text: []string{"status 500 Internal Server Error: the body"}},
		"599":                       {status: 599, state: chokaqtest.Pending, text: []string{"status 599: the body"}},
		"408":                       {status: 408, state: chokaqtest.Pending},
		"425":                       {status: 425, state: chokaqtest.Pending},
		"429, seconds":              {status: 429, retryAfter: "120", state: chokaqtest.Pending, wait: 2 * time.Minute},
		"503, date":                 {status: 503, retryAfter: "Mon, 01 Mar 2027 12:10:00 GMT", date: "Mon, 01 Mar 2027 12:00:00 GMT", state: chokaqtest.Pending, wait: 10 * time.Minute},
		"503, date and their clock": {status: 503, retryAfter: "Mon, 01 Mar 2027 13:10:00 GMT", date: "Mon, 01 Mar 2027 13:00:00 GMT", state: chokaqtest.Pending, wait: 10 * time.Minute},
		"503, a date that is past":  {status: 503, retryAfter: "Mon, 01 Mar 2027 11:00:00 GMT", date: "Mon, 01 Mar 2027 12:00:00 GMT", state: chokaqtest.Pending},
		"503, at once":              {status: 503, retryAfter: "0", state: chokaqtest.Pending},
		"503, nonsense":             {status: 503, retryAfter: "soon", state: chokaqtest.Pending},
		"503, negative":             {status: 503, retryAfter: "-5", state: chokaqtest.Pending},
		"503, in a century":         {status: 503, retryAfter: "9223372036854775807", state: chokaqtest.Pending, wait: 24 * time.Hour},
		"400":                       {status: 400, retryAfter: "5", state: chokaqtest.Dead, reason: "Rejected", text: []string{"status 400 Bad Request: the body"}},
		"404":                       {status: 404, state: chokaqtest.Dead, reason: "Rejected"},
		"301":                       {status: 301, state: chokaqtest.Dead, reason: "Rejected", text: []string{"redirects are not followed", "perhaps https://other.example/path"}},
		"304":                       {status: 304, state: chokaqtest.Dead, reason: "Rejected"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if c.retryAfter != "" {
					w.Header().Set("Retry-After", c.retryAfter)
				}
				if c.date != "" {
					w.Header().Set("Date", c.date)
				}
				if c.status/100 == 3 {
					w.Header().Set("Location", "https://u:hunter2@other.example/path?token=hunter2")
				}
				w.WriteHeader(c.status)
				if c.status != 204 && c.status != 304 {
					_, _ = io.WriteString(w, "the body\x00\xff\n")
				}
			})
			q := chokaqtest.New(t, chokaqtest.At(noon))
			worker := q.NewWorker(driver.WorkerConfig{})
			runner := newRunner(t, server.URL+"/x?token=hunter2", nil)
			driver.HandleAny(worker, func(ctx context.Context, job *driver.Job[json.RawMessage]) error { return runner.Run(ctx, job.JobInfo) },
				driver.Backoff(func(int) time.Duration { return 7 * time.Second }))
			enqueued, err := q.Client().Enqueue(t.Context(), driver.NewJob{Type: "t"})
			if err != nil {
				t.Fatal(err)
			}
			q.Start(worker)
			q.WaitIdle()
			job := q.RequireState(enqueued.JobID, c.state)
			if job.Reason != c.reason {
				t.Errorf("reason %q, want %q", job.Reason, c.reason)
			}
			wait := c.wait
			if wait == 0 {
				wait = 7 * time.Second
			}
			if got := job.DueAt.Sub(noon); c.state == chokaqtest.Pending && got != wait {
				t.Errorf("waits %v, want %v", got, wait)
			}
			if c.state != chokaqtest.Completed && !strings.HasPrefix(job.Error, "POST "+server.URL+"/x: status ") {
				t.Errorf("error %q", job.Error)
			}
			for _, piece := range c.text {
				if !strings.Contains(job.Error, piece) {
					t.Errorf("error %q, want %q in it", job.Error, piece)
				}
			}
			if strings.Contains(job.Error, "hunter2") || !utf8.ValidString(job.Error) || strings.ContainsRune(job.Error, 0) {
				t.Errorf("error %q", job.Error)
			}
		})
	}
}

func TestNoAnswerIsTriedAgain(t *testing.T) {
	hangsUp := serve(t, func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	})
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	defer untrusted.Close()
	for name, c := range map[string]struct{ address, text string }{
		"hangs up":     {hangsUp.URL, "EOF"},
		"nobody there": {"http://" + nobody.Addr().String(), "connection refused"},
		"untrusted":    {untrusted.URL, "certificate"},
		"no such host": {"http://no-such-host.invalid", "no-such-host.invalid"},
	} {
		r := newRunner(t, c.address+"/p?token=hunter2", nil)
		err := r.Run(t.Context(), job)
		if err == nil || !strings.HasPrefix(err.Error(), "POST "+c.address+"/p: no answer: ") || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// However a server repeats what it was sent, secrets are not kept; not even one that lies across the cut.
func TestSecretsAreNotKept(t *testing.T) {
	const secret = "hunter2-and-more"
	for length := maxError - 2*len(secret); length <= maxError+len(secret); length++ {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(400)
			sent := r.Header.Get("Authorization")
			_, _ = io.WriteString(w, sent+strings.Repeat("x", length-len(sent))+r.Header.Get("X-Key")+strings.Repeat("é", 2000))
		}))
		r := newRunner(t, server.URL, map[string]string{"A": secret, "B": secret + "-longer"}, "Authorization", "${A}", "X-Key", "${B}")
		err := r.Run(t.Context(), job)
		server.Close()
		text := fmt.Sprint(err)
		for i := 4; i <= len(secret); i++ {
			if strings.Contains(text, secret[:i]) {
				t.Fatalf("at %d: %q is kept", length, secret[:i])
			}
		}
		if strings.Contains(text, "-longer") || strings.ContainsRune(text, '\uFFFD') || !strings.Contains(text, redacted+"xxx") || len(text) > maxError+200 {
			t.Fatalf("at %d: %d bytes: %s", length, len(text), text)
		}
	}
}

// The end of the context ends the request; what the driver needs to know about it is in the error.
func TestCancellation(t *testing.T) {
	arrived, ended := make(chan struct{}), make(chan struct{})
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		close(arrived)
		<-r.Context().Done()
		close(ended)
	})
	r := newRunner(t, server.URL, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	result := make(chan error, 1)
	go func() { result <- r.Run(ctx, job) }()
	<-arrived
	cancel(driver.ErrShutdown)
	if err := <-result; err == nil || !strings.Contains(err.Error(), "it was canceled: "+driver.ErrShutdown.Error()) {
		t.Error(err)
	}
	<-ended // the server has seen it
}

// An interrupted request is for review, since the server may have done the work; one that was not sent is tried again.
func TestAStopInterruptsRequests(t *testing.T) {
	arrived := make(chan struct{}, 1)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	q := chokaqtest.New(t)
	worker := q.NewWorker(driver.WorkerConfig{WorkerShutdownGracePeriod: time.Millisecond})
	runner := newRunner(t, server.URL, nil)
	dialing := make(chan struct{}, 1)
	unsent := newRunner(t, server.URL, nil)
	unsent.Client.Transport.(*http.Transport).DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		dialing <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	driver.Handle(worker, "sent", func(ctx context.Context, job *driver.Job[json.RawMessage]) error { return runner.Run(ctx, job.JobInfo) })
	driver.Handle(worker, "unsent", func(ctx context.Context, job *driver.Job[json.RawMessage]) error { return unsent.Run(ctx, job.JobInfo) })
	for _, jobType := range []string{"sent", "unsent"} {
		if _, err := q.Client().Enqueue(t.Context(), driver.NewJob{Type: jobType}); err != nil {
			t.Fatal(err)
		}
	}
	q.Start(worker)
	<-arrived
	<-dialing
	if err := q.Stop(worker); err != nil {
		t.Error(err)
	}
	if job := q.RequireEnqueued("sent", nil); job.State != chokaqtest.Dead || job.Reason != "Interrupted" {
		t.Error(job)
	}
	if job := q.RequireEnqueued("unsent", nil); job.State != chokaqtest.Pending {
		t.Error(job)
	}
}

// One connection serves many jobs, whatever the answers are.
func TestConnectionsAreUsedAgain(t *testing.T) {
	var n, opened atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader([]int{200, 500, 404, 302}[n.Add(1)%4])
		_, _ = io.WriteString(w, strings.Repeat("x", 10_000))
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	r := newRunner(t, server.URL, nil)
	for range 20 {
		_ = r.Run(t.Context(), job)
	}
	r.Client.CloseIdleConnections()
	if n.Load() != 20 || opened.Load() != 1 {
		t.Errorf("%d requests over %d connections", n.Load(), opened.Load())
	}
}

func TestURLs(t *testing.T) {
	for address, want := range map[string]string{
		"https://h/p?q=1": "", "http://h:8080": "", "http://[::1]:80/": "",
		"https://u@h/": "user or password", "https://u:hunter2@h/": "user or password", "ftp://h/": "not a URL of HTTP", "/path": "not a URL of HTTP", "https://": "not a URL of HTTP",
		"https://:80/": "not a URL of HTTP", "http://h/#f": "fragment", "http://h/${A}": "for headers only", "http://h\x00/": "cannot be parsed", "http://u:hunter2@h:x/": "cannot be parsed",
	} {
		_, err := ParseURL(address)
		if (want == "") != (err == nil) || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%q: %v, want %q", address, err, want)
		}
	}
}

func TestHeadersTwice(t *testing.T) {
	target, err := ParseURL("http://h/")
	if err != nil {
		t.Fatal(err)
	}
	none := func(string) (string, bool) { return "", false }
	if err := errors.Join(target.SetHeader("X-A", "1", none), target.SetHeader("x-b", "a $ { b }", none)); err != nil {
		t.Error(err)
	}
	if err := target.SetHeader("x-a", "2", none); err == nil || !strings.Contains(err.Error(), "is there twice") {
		t.Error(err)
	}
	if err := target.SetHeader("X-C", "${1x} ${EMPTY}", none); err == nil || !strings.Contains(err.Error(), "does not name") || !strings.Contains(err.Error(), "EMPTY is not set") {
		t.Error(err)
	}
}

// The status decides: a server that then holds its answer open holds neither the job nor the handler's slot, also where the type has no timeout.
func TestAnswersWithoutAnEnd(t *testing.T) {
	for status, wanted := range map[int]string{http.StatusOK: "", http.StatusInternalServerError: "status 500 Internal Server Error: begins"} {
		release := make(chan struct{})
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "begins")
			w.(http.Flusher).Flush()
			<-release
		})
		t.Cleanup(func() { close(release) }) // before the server's, which waits for the handler
		ended := make(chan error, 1)
		r := newRunner(t, server.URL, nil)
		go func() { ended <- r.Run(t.Context(), job) }()
		select {
		case err := <-ended:
			if wanted == "" && err != nil || wanted != "" && (err == nil || !strings.HasSuffix(err.Error(), wanted)) {
				t.Errorf("%d: %v", status, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%d: the handler waits for the end of the answer", status)
		}
	}
}
