package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chokaq/chokaq/db"
	"github.com/chokaq/chokaq/driver"
)

// Recovery settings of the demo: seconds, where the defaults are minutes.
const (
	fetchedTimeout = 4
	zombieTimeout  = 5
	agentEvery     = 10 * time.Second // Agent allows no less
	patience       = 60 * time.Second
)

// install makes recovery quick: the schema is there with the server, the Agent jobs are made here.
func (d *demo) install(ctx context.Context) error {
	for name, seconds := range map[string]int{"Recovery.FetchedJobTimeout": fetchedTimeout, "Recovery.ProcessingZombieTimeout": zombieTimeout} {
		if err := d.exec(ctx, "EXEC chokaq.SetSetting @Name = @p1, @Value = @p2, @Note = N'demo'", name, seconds); err != nil {
			return err
		}
	}
	installer := db.Installer{DSN: d.dsn["sa"]}
	if err := installer.InstallAgentJobs(ctx, db.AgentSchedule{ResetEvery: agentEvery, RescueEvery: agentEvery}); err != nil {
		return err
	}
	d.say("The queue is installed in it: stored procedures, and SQL Server Agent jobs that run recovery every %v. "+
		"Timeouts are shortened for the demo: what a worker holds and no longer vouches for is put in order after %d s (not started) or %d s (running).",
		agentEvery, fetchedTimeout, zombieTimeout)
	return nil
}

// stopGracefully is a deployment: SIGTERM in the middle of work.
func (d *demo) stopGracefully(ctx context.Context, a *child) error {
	total := int64(len(d.jobs))
	err := d.await(ctx, "worker A in the middle of work", patience, func() (bool, error) {
		done, err := d.done(ctx)
		if err != nil || a.over() {
			return false, errors.Join(err, endedEarly(a))
		}
		held, err := d.heldBy(ctx, a.pid())
		return done >= total/4 && (held.running > 0 || done == total), err
	})
	if err != nil {
		return err
	}
	done, err := d.done(ctx)
	if err != nil {
		return err
	}
	d.print("")
	d.say("%d of %d jobs are done. Worker A gets SIGTERM, as in a deployment. Its log says:", done, total)
	if err := a.stop(); err != nil {
		return err
	}
	if err := d.awaitEnd(ctx, a, patience); err != nil {
		return err
	}
	if a.status != 0 {
		return fmt.Errorf("worker A ended with status %d and not 0", a.status)
	}
	d.say("Worker A has ended with status 0: nothing of it is left to anybody.")
	return nil
}

func endedEarly(c *child) error {
	if c.over() {
		return fmt.Errorf("%s has ended before its time", c.name)
	}
	return nil
}

// killInTheMiddle is a crash: SIGKILL while handlers run.
func (d *demo) killInTheMiddle(ctx context.Context, b *child) (held, error) {
	total := int64(len(d.jobs))
	err := d.await(ctx, "worker B in the middle of work", patience, func() (bool, error) {
		done, err := d.done(ctx)
		if err != nil || b.over() {
			return false, errors.Join(err, endedEarly(b))
		}
		if done == total || done < total*2/5 {
			return done == total, nil
		}
		h, err := d.heldBy(ctx, b.pid())
		if err != nil || h.running == 0 {
			return false, err
		}
		if done >= total*3/5 {
			return true, nil
		}
		// The best moment is when a job has had its side effect and the database does not know it yet.
		between, err := d.betweenBooks(ctx, b.pid())
		return between && h.fetched > 0, err
	})
	if err != nil {
		return held{}, err
	}
	b.kill()
	if err := d.awaitEnd(ctx, b, patience); err != nil {
		return held{}, err
	}
	// The server may still carry out the last call that it was sent.
	var last held
	for calm := 0; calm < 5; {
		now, err := d.heldBy(ctx, b.pid())
		if err != nil {
			return held{}, err
		}
		if calm++; now != last {
			calm = 0
		}
		last = now
		if err := d.rest(ctx, 20*time.Millisecond); err != nil {
			return held{}, err
		}
	}
	done, err := d.done(ctx)
	if err != nil {
		return held{}, err
	}
	d.print("")
	d.say("%d of %d jobs are done. Worker B is killed with SIGKILL, as in a crash. It leaves behind %s that it had fetched and not started, and %d running (or finished, with the outcome not stored yet).",
		done, total, count(last.fetched, "job"), last.running)
	return last, nil
}

// awaitRecovery waits until Agent has seen to what the dead worker held.
func (d *demo) awaitRecovery(ctx context.Context, b *child, killed held) error {
	if killed == (held{}) {
		d.say("The worker held nothing when it was killed: there is nothing to recover.")
		return nil
	}
	err := d.await(ctx, "recovery by SQL Server Agent", patience, func() (bool, error) {
		h, err := d.heldBy(ctx, b.pid())
		return h == (held{}), err
	})
	if err != nil {
		return err
	}
	// A procedure notes its run after it has moved the rows.
	err = d.await(ctx, "the record of recovery", patience, func() (bool, error) {
		reset, _, err1 := d.recovered(ctx, "ResetFetchedJobs")
		rescued, _, err2 := d.recovered(ctx, "RescueZombieJobs")
		return reset+rescued >= killed.fetched+killed.running, errors.Join(err1, err2)
	})
	if err != nil {
		return err
	}
	d.print("")
	for _, p := range []struct{ procedure, what string }{
		{"ResetFetchedJobs", "had been fetched and not started. No code has run, so anybody may have them: back in the queue"},
		{"RescueZombieJobs", "had been running. Nobody knows how far they got, so they are not run again: in the dead-letter queue, for a person to review"},
	} {
		moved, by, err := d.recovered(ctx, p.procedure)
		if err != nil {
			return err
		}
		if moved > 0 {
			d.say("%s has run chokaq.%s: %s %s.", by, p.procedure, count(moved, "job"), p.what)
		}
	}
	return nil
}

// decide is the operator.
func (d *demo) decide(ctx context.Context) error {
	ids, err := d.dead(ctx, "Zombie")
	if err != nil || len(ids) == 0 {
		return err
	}
	requeued, err := d.requeue(ctx, ids)
	if err != nil {
		return err
	}
	d.print("")
	d.say("An operator reviews the dead-letter queue, finds %s, and decides to run them again, since hashing a file once more does no harm: %d requeued.",
		count(len(ids), "zombie"), requeued)
	return nil
}

// finish lets the last worker do the rest, and stops it.
func (d *demo) finish(ctx context.Context, c *child) error {
	for again := true; again; {
		err := d.await(ctx, "the end of all jobs", patience, func() (bool, error) {
			live, err := d.live(ctx)
			return live == 0, errors.Join(err, endedEarly(c))
		})
		if err != nil {
			return err
		}
		// On a machine that is very busy worker C may be taken for dead too.
		zombies, err := d.dead(ctx, "Zombie")
		if err != nil {
			return err
		}
		if again = len(zombies) > 0; again {
			if err := d.decide(ctx); err != nil {
				return err
			}
		}
	}
	d.print("")
	d.say("No job is left. Worker C gets SIGTERM:")
	if err := c.stop(); err != nil {
		return err
	}
	if err := d.awaitEnd(ctx, c, patience); err != nil {
		return err
	}
	if c.status != 0 {
		return fmt.Errorf("worker C ended with status %d and not 0", c.status)
	}
	return nil
}

// tellShutdown prints the steps of a stop as a worker logs them.
func (d *demo) tellShutdown(line logLine) {
	after, _ := time.ParseDuration(line.After)
	step := func(format string, args ...any) {
		d.print("          +%.3fs  %s", after.Seconds(), fmt.Sprintf(format, args...))
	}
	switch line.Event {
	case "shutdown.draining":
		running, _ := line.Running.(float64)
		step("draining: no more claims; %d running, %d fetched, not started", int(running), line.Prefetched)
	case "shutdown.released":
		step("%s given back to the queue: fetched and not started", count(line.Released, "job"))
	case "shutdown.release_failed":
		step("fetched jobs could not be given back: recovery will")
	case "shutdown.handlers_returned":
		step("every running job has finished, within the grace period")
	case "shutdown.handlers_canceled":
		step("the grace period is over: running jobs are canceled")
	case "shutdown.flush":
		step("storing the last %s", count(line.Outcomes, "outcome"))
	case "shutdown.stopped":
		step("stopped, after %s completed in its life", count(line.Stats["Completed"], "job"))
	}
}

// requeue is what an operator's tool does.
func (d *demo) requeue(ctx context.Context, ids []int64) (int, error) {
	client, err := driver.Open(d.dsn["operator"])
	if err != nil {
		return 0, err
	}
	defer client.Close()
	return requeueDead(ctx, client.DB(), ids)
}
