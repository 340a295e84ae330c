package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// start starts a child with this process's environment, without its settings of ChokaQ.
func (d *demo) start(name string, env []string, log func(logLine), args ...string) (*child, error) {
	var clean []string
	for _, entry := range d.Environ {
		if !strings.HasPrefix(entry, "CHOKAQ_") {
			clean = append(clean, entry)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c, err := startChild(name, append(clean, env...), args, log)
	if err == nil {
		d.children = append(d.children, c)
	}
	return c, err
}

// killAll ends every process of the demo.
func (d *demo) killAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.children {
		if !c.over() {
			c.kill()
		}
	}
}

// cleanUp leaves nothing behind.
func (d *demo) cleanUp() error {
	if d.pool != nil {
		_ = d.pool.Close()
	}
	d.killAll()
	for _, c := range d.children {
		<-c.ended
		_ = c.hold.Close()
	}
	return os.RemoveAll(d.temp)
}

// blame adds the last words of a process that has ended when it should not have.
func (d *demo) blame(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.children {
		if words := c.lastWords(); c.over() && c.status > 0 && words != "" {
			err = fmt.Errorf("%w\n%s ended with status %d:\n%s", err, c.name, c.status, words)
		}
	}
	return err
}

// await looks until done says so. limit bounds it; what is awaited is named when it does not come.
func (d *demo) await(ctx context.Context, what string, limit time.Duration, done func() (bool, error)) error {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		ok, err := done()
		if err != nil || ok {
			return err
		}
		select {
		case <-look.C:
		case <-d.server.ended:
			return errors.New("the database server has ended")
		case <-deadline.C:
			return fmt.Errorf("%s: it has not happened within %v", what, limit)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// awaitEnd waits for a child to end by itself.
func (d *demo) awaitEnd(ctx context.Context, c *child, limit time.Duration) error {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	select {
	case <-c.ended:
		return nil
	case <-deadline.C:
		return fmt.Errorf("%s has not ended within %v", c.name, limit)
	case <-ctx.Done():
		return ctx.Err()
	}
}
