package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/chokaq/chokaq/driver"
)

const (
	// maxError is how much of the body of an error is kept.
	maxError = 2 << 10
	// maxDrained is how much of a body is read so that its connection can be used again.
	maxDrained = 64 << 10
	// bodyTime bounds how long a body is read: the status has decided, and a server that holds its answer open, or sends it drop by drop, does not hold the job.
	bodyTime = 2 * time.Second
	// maxRetryAfter bounds what a server may ask for.
	maxRetryAfter = 24 * time.Hour
)

// NewClient makes the client that all targets of a worker share: connections are kept and used again, certificates are verified, redirects
// are not followed. A request is bounded by its context alone.
func NewClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout:    10 * time.Second,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2:      true,
			MaxIdleConnsPerHost:    100,
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Runner sends a request for each job of a type.
type Runner struct {
	*Target
	Client  *http.Client
	Version string // of the worker, for User-Agent
	Now     func() time.Time
}

// Run is the handler: nil when the status is 2xx.
func (r *Runner) Run(ctx context.Context, job driver.JobInfo) error {
	var connected atomic.Bool
	answering, stop := context.WithCancel(ctx)
	defer stop()
	traced := httptrace.WithClientTrace(answering, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	request, err := http.NewRequestWithContext(traced, http.MethodPost, r.url.String(), bytes.NewReader(job.Payload))
	if err != nil { // ParseURL has accepted it
		return driver.Reject(fmt.Errorf("POST %s: the request cannot be made", r.Name()))
	}
	request.Header = r.header.Clone()
	if request.Header.Get("Content-Type") == "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", "chokaq-worker/"+r.Version)
	}
	setJob(request.Header, job)
	if trace.SpanContextFromContext(ctx).IsValid() { // the worker traces: the request belongs to the span of the attempt, which is linked to the producer's
		request.Header.Del("Tracestate")
		propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(request.Header))
	}

	response, err := r.Client.Do(request)
	if err != nil {
		return r.failure(ctx, err, connected.Load())
	}
	defer response.Body.Close()
	defer time.AfterFunc(bodyTime, stop).Stop()
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		_, _ = io.CopyN(io.Discard, response.Body, maxDrained) // the job is done, whatever becomes of the rest
		return nil
	}
	return r.refusal(ctx, response)
}

// failure is a request that got no answer.
func (r *Runner) failure(ctx context.Context, err error, connected bool) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the URL, whose query may be nobody's business
	}
	text := err.Error()
	if cause := context.Cause(ctx); cause != nil {
		text = "it was canceled: " + cause.Error()
	}
	failed := fmt.Errorf("POST %s: no answer: %s", r.Name(), r.redact(text))
	if !connected {
		return driver.MarkSafeToRetry(failed) // nothing was sent
	}
	return failed
}

// refusal is an answer other than 2xx.
func (r *Runner) refusal(ctx context.Context, response *http.Response) error {
	status := response.StatusCode
	text := fmt.Sprintf("POST %s: status %d", r.Name(), status)
	if name := http.StatusText(status); name != "" {
		text += " " + name
	}
	if status >= 300 && status < 400 {
		text += "; redirects are not followed: name the final URL"
		if to, err := response.Location(); err == nil {
			to.User, to.RawQuery, to.Fragment = nil, "", ""
			text += ", perhaps " + to.String()
		}
	}
	if body := r.errorBody(response.Body); body != "" {
		text += ": " + body
	}
	if cause := context.Cause(ctx); cause != nil {
		text += " (after it was canceled: " + cause.Error() + ")"
	}
	err := errors.New(r.redact(text))
	switch {
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests, status >= 500:
		if wait := r.retryAfter(response.Header); wait > 0 {
			return driver.RetryAfter(min(wait, maxRetryAfter), err)
		}
		return err
	}
	return driver.Reject(err)
}

// errorBody is the beginning of a body, as text and without the secrets. As much more is read as the longest secret has, so that one which begins before the
// cut is recognized; and more, so that the connection can be used again.
func (r *Runner) errorBody(body io.Reader) string {
	read, _ := io.ReadAll(io.LimitReader(body, int64(maxError+r.longestSecret())))
	_, _ = io.CopyN(io.Discard, body, maxDrained)
	whole := string(read)
	var kept strings.Builder
	for i := 0; i < min(len(whole), maxError); {
		secret := r.secretAt(whole[i:])
		if secret == "" {
			kept.WriteByte(whole[i])
			i++
			continue
		}
		kept.WriteString(redacted)
		i += len(secret)
	}
	text := kept.String()
	if len(whole) > maxError { // the cut may have divided a character
		for range utf8.UTFMax - 1 {
			if r, size := utf8.DecodeLastRuneInString(text); r != utf8.RuneError || size != 1 {
				break
			}
			text = text[:len(text)-1]
		}
	}
	return strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\uFFFD"))
}

// retryAfter is what the answer asks for: seconds, or a date, which is compared with the server's own clock if it tells it. 0: nothing, or no wait.
func (r *Runner) retryAfter(header http.Header) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if text == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(text, 10, 63); err == nil {
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now := r.Now()
	if theirs, err := http.ParseTime(header.Get("Date")); err == nil {
		now = theirs
	}
	return max(0, at.Sub(now))
}
