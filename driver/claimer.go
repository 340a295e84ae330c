package driver

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"
)

// claimer is the one goroutine that claims: first part of the flow claim -> prefetch -> process -> complete.
//
// It asks for no more than the free room of the prefetch channel, whose only sender it is, so that nothing claimed
// ever waits for a place; rows that were put aside take room as if they were in it. It refills when half of the room is free, polls with jitter while there is little
// to do, claims again at once after a full batch, and at once when this process enqueues. It asks for the job types that the worker has handlers for, but
// for those that are at their concurrency limit and have enough rows waiting.
type claimer struct {
	w       *Worker
	queues  string        // JSON
	woken   chan struct{} // an enqueue of this process
	roomier chan struct{} // the processor has taken a row, or a job type can be claimed again
	// unsettled is the token of a claim that was cut off: what it may have committed is released by it.
	unsettled atomic.Pointer[uuid.UUID]
}

func newClaimer(w *Worker) *claimer {
	return &claimer{w: w, queues: jsonText(w.config.Queues), woken: make(chan struct{}, 1), roomier: make(chan struct{}, 1)}
}

func (c *claimer) wake()     { signal(c.woken) }
func (c *claimer) freeRoom() { signal(c.roomier) }

// reconsider ends both waits: a job type that was left out can be claimed again.
func (c *claimer) reconsider() {
	c.freeRoom()
	c.wake()
}

// signal leaves a mark in a channel of capacity one.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// run claims until ctx ends, then closes the prefetch channel for writing.
func (c *claimer) run(ctx context.Context) {
	defer close(c.w.prefetch)
	wait := c.w.config.PollIntervalMin
	for ctx.Err() == nil {
		room, types := c.room(ctx)
		if room == 0 {
			return
		}
		got := c.claim(ctx, types, room)
		switch {
		case got == room:
			wait = c.w.config.PollIntervalMin
			continue
		case got > 0:
			wait = c.w.config.PollIntervalMin
		default:
			wait = min(2*wait, c.w.config.PollIntervalMax)
		}
		if !c.pause(ctx, wait) {
			return
		}
	}
}

// room waits until at least half of the room for waiting rows is free and there is a type to claim. It returns how much may be claimed, and of which types; 0 when
// ctx ends first.
func (c *claimer) room(ctx context.Context) (int, sql.NullString) {
	for {
		if most, leftOut := c.w.admission.room(); most > 0 {
			if types, any := c.w.claimedTypes(leftOut); any {
				return most, types
			}
		}
		select {
		case <-c.roomier:
		case <-ctx.Done():
			return 0, sql.NullString{}
		}
	}
}

// pause waits for about d, or less when this process enqueues. It reports whether ctx goes on.
func (c *claimer) pause(ctx context.Context, d time.Duration) bool {
	return c.w.sleepUnless(ctx, d/2+rand.N(d/2+1), c.woken)
}

// claim claims up to most jobs into the prefetch channel and returns how many it got. It repeats with the same token
// until the database has answered: the token makes the repetition return what an unheard answer had.
func (c *claimer) claim(ctx context.Context, types sql.NullString, most int) int {
	token := uuid.New()
	c.unsettled.Store(&token)
	var sentAt time.Duration
	jobs, err := persist(ctx, c.w, func(ctx context.Context) ([]JobInfo, error) {
		sentAt = c.w.clock.Monotonic()
		return c.w.procedures.claim(ctx, c.w.id, token, c.queues, types, most)
	})
	if err != nil {
		return 0 // ctx has ended; shutdown releases by the token
	}
	c.unsettled.Store(nil)
	c.w.stats.claimed.Add(int64(len(jobs)))
	for _, job := range jobs {
		h := c.w.handler(job.Type)
		if h != nil && h.maxAttempts > 0 {
			job.MaxAttempts = h.maxAttempts
		}
		held := c.w.owned.add(job, h, token, sentAt)
		c.w.admission.arrive(held)
		c.w.client.metrics.count(c.w.client.metrics.claimed, job)
		select {
		case c.w.prefetch <- held:
		case <-ctx.Done(): // more rows than were asked for, and nobody takes them: the stop releases what is held
		}
	}
	if len(jobs) > 0 {
		c.w.log.Debug("jobs claimed", event("jobs.claimed"), zap.Int("count", len(jobs)), zap.Int("asked", most), zap.Stringer("claim_token", token))
	}
	return len(jobs)
}
