package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/chokaq/chokaq/driver"
)

var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$`)

// setJob sets the headers that tell about the job.
func setJob(header http.Header, job driver.JobInfo) {
	add := func(name, value string) { header.Set("Chokaq-"+name, encode(value)) }
	add("Job-Id", strconv.FormatInt(job.ID, 10))
	add("Job-Type", job.Type)
	add("Queue", job.Queue)
	add("Attempt", strconv.Itoa(job.Attempt))
	add("Max-Attempts", strconv.Itoa(job.MaxAttempts))
	add("Requeue-Count", strconv.Itoa(job.RequeueCount))
	add("Priority", strconv.Itoa(job.Priority))
	add("Enqueued-At", job.EnqueuedAt.UTC().Format(time.RFC3339Nano))
	add("Due-At", job.DueAt.UTC().Format(time.RFC3339Nano))
	if job.IdempotencyKey != "" {
		add("Idempotency-Key", job.IdempotencyKey)
	}
	if len(job.Headers) == 0 {
		return
	}
	add("Headers", string(job.Headers))
	var all map[string]any
	if json.Unmarshal(job.Headers, &all) != nil {
		return
	}
	trace, state := "", ""
	for name, value := range all {
		text, _ := value.(string)
		switch strings.ToLower(name) {
		case "traceparent":
			trace = text
		case "tracestate":
			state = text
		}
	}
	if !traceparent.MatchString(trace) || encode(trace) != trace {
		return
	}
	header.Set("Traceparent", trace)
	if state != "" && !strings.ContainsFunc(state, func(r rune) bool { return r < ' ' || r > '~' }) {
		header.Set("Tracestate", state)
	}
}

// encode percent-encodes what is not printable ASCII, and "%", so that a header holds any text.
func encode(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
