package driver

import (
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// event names a log line: the field "event" is stable, the message is for people. docs/configuration.md lists
// them.
func event(name string) zap.Field { return zap.String("event", name) }

// jobLog writes the facts that every log line about a job carries.
type jobLog JobInfo

func (j jobLog) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	enc.AddInt64("job_id", j.ID)
	enc.AddString("job_type", j.Type)
	enc.AddString("queue", j.Queue)
	enc.AddInt("attempt", j.Attempt)
	return nil
}

// jobIDs lists at most a thousand ids for a log line.
func jobIDs(name string, jobs []*heldJob) zap.Field {
	ids := make([]int64, 0, min(len(jobs), maxBatch))
	for _, job := range jobs[:min(len(jobs), maxBatch)] {
		ids = append(ids, job.JobID)
	}
	return zap.Int64s(name, ids)
}
