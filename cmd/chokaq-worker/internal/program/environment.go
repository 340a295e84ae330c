package program

import (
	"strconv"
	"strings"
	"time"

	"github.com/chokaq/chokaq/driver"
)

// environment is what a program gets: the worker's own environment without the worker's settings, among them its data
// source name, and the facts of the job.
func environment(own []string, job driver.JobInfo) []string {
	var env []string
	for _, entry := range own {
		if !strings.HasPrefix(entry, "CHOKAQ_") {
			env = append(env, entry)
		}
	}
	add := func(name, value string) { env = append(env, "CHOKAQ_JOB_"+name+"="+value) }
	add("ID", strconv.FormatInt(job.ID, 10))
	add("TYPE", job.Type)
	add("QUEUE", job.Queue)
	add("ATTEMPT", strconv.Itoa(job.Attempt))
	add("MAX_ATTEMPTS", strconv.Itoa(job.MaxAttempts))
	add("REQUEUE_COUNT", strconv.Itoa(job.RequeueCount))
	add("PRIORITY", strconv.Itoa(job.Priority))
	add("ENQUEUED_AT", job.EnqueuedAt.UTC().Format(time.RFC3339Nano))
	add("DUE_AT", job.DueAt.UTC().Format(time.RFC3339Nano))
	add("IDEMPOTENCY_KEY", job.IdempotencyKey)
	add("HEADERS", string(job.Headers))
	return env
}
