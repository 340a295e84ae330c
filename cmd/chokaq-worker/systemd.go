package main

import (
	"context"
	"fmt"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"go.uber.org/zap"

	"github.com/chokaq/chokaq/driver"
)

// systemdEvery is how often systemd is told how the worker does, if that has changed.
const systemdEvery = 250 * time.Millisecond

// tellSystemd tells systemd how the worker does, when systemd has started it with Type=notify: ready when it claims jobs, stopping with the time that
// the stop may take (so that a TimeoutStopSec that is too short does not cut it short), and a line for systemctl status. The function
// that it returns ends that.
func (a *app) tellSystemd(ctx context.Context, worker *driver.Worker, logger *zap.Logger) (stop func()) {
	if a.variable("NOTIFY_SOCKET") == "" {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		look := time.NewTicker(systemdEvery)
		defer look.Stop()
		stopping, said, ready := ctx.Done(), "", false
		for {
			message := ""
			status := worker.Status()
			if !ready && status.State == "running" {
				ready, message = true, daemon.SdNotifyReady+"\n"
			}
			if text := systemdStatus(status); text != said {
				said, message = text, message+"STATUS="+text
			}
			tellOnce(message, logger)
			select {
			case <-look.C:
			case <-stopping:
				stopping = nil
				bound := time.Duration(status.ShutdownBoundSeconds * float64(time.Second))
				tellOnce(fmt.Sprintf("%s\nEXTEND_TIMEOUT_USEC=%d", daemon.SdNotifyStopping, (bound+flushWithin+time.Second).Microseconds()), logger)
			case <-done:
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

func tellOnce(message string, logger *zap.Logger) {
	if message == "" {
		return
	}
	if _, err := daemon.SdNotify(false, message); err != nil {
		logger.Warn("systemd could not be told how the worker does; jobs are not affected", zap.String("event", "systemd.untold"), zap.Error(err))
	}
}

// systemdStatus is the line that systemctl status shows.
func systemdStatus(s driver.Status) string {
	switch {
	case s.State == "new" || s.State == "starting":
		return "Waiting for the database"
	case s.State == "draining":
		return fmt.Sprintf("Stopping, step %d of 7: %d handlers still run, %d outcomes wait to be stored", s.ShutdownStep, s.HandlersRunning, s.OutcomesWaiting)
	case !s.DatabaseUp:
		return fmt.Sprintf("The database does not answer; %d handlers run, %d outcomes wait to be stored", s.HandlersRunning, s.OutcomesWaiting)
	case s.RecoveryLate:
		return fmt.Sprintf("%d of %d handlers run; RECOVERY DOES NOT RUN", s.HandlersRunning, s.Handlers)
	}
	return fmt.Sprintf("%d of %d handlers run", s.HandlersRunning, s.Handlers)
}
