package driver

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf16"
)

// WorkerConfig holds a worker's settings. The zero value of a field is its default. The env tags name the environment
// variables of chokaq-worker (prefix CHOKAQ_), read with go-envconfig; docs/configuration.md has the reference.
type WorkerConfig struct {
	// Queues to serve, in order of preference: a claim looks at the first one first. Default: DefaultQueue. At most 100.
	Queues []string `env:"QUEUES, overwrite"`
	// Handlers is the number of handler slots: how many jobs run at a time. Default 10; at most 10000. Worker.SetHandlers changes it later.
	Handlers int `env:"HANDLERS, overwrite"`
	// Prefetch is the room of the prefetch channel: how many jobs wait in memory for a slot. Default: twice Handlers; at most
	// 1000. A stop gives them back.
	Prefetch int `env:"PREFETCH, overwrite"`

	// PollIntervalMin and PollIntervalMax bound the wait between two claims that found less than they asked for; it doubles
	// while nothing is found. Defaults 100ms and 2s.
	PollIntervalMin time.Duration `env:"POLL_INTERVAL_MIN, overwrite"`
	PollIntervalMax time.Duration `env:"POLL_INTERVAL_MAX, overwrite"`

	// HeartbeatInterval is the time between two heartbeats. Default 15s, or a tenth of the shortest recovery timeout if that
	// is less. It must be at most a third of both recovery timeouts, which the database owns.
	HeartbeatInterval time.Duration `env:"HEARTBEAT_INTERVAL, overwrite"`
	// CommandTimeout bounds one call of a procedure; PurgeHistory, if RecoveryEnabled, has twenty times as long. Default 15s.
	CommandTimeout time.Duration `env:"COMMAND_TIMEOUT, overwrite"`

	// WorkerShutdownGracePeriod is how long running handlers may go on after a stop was asked for; their contexts are canceled
	// at its end (ErrShutdown). Default 30s. In the documentation: SqlServer.WorkerShutdownGracePeriod.
	WorkerShutdownGracePeriod time.Duration `env:"SQLSERVER_WORKER_SHUTDOWN_GRACE_PERIOD, overwrite"`
	// PrefetchedJobReleaseTimeout is how long a stop tries to give back what was prefetched and not started; after it, recovery in
	// the database does. Default 5s. In the documentation: SqlServer.PrefetchedJobReleaseTimeout.
	PrefetchedJobReleaseTimeout time.Duration `env:"SQLSERVER_PREFETCHED_JOB_RELEASE_TIMEOUT, overwrite"`
	// CancellationPeriod is how long handlers have to return once their contexts are canceled at the end of the grace period;
	// after it they are abandoned. Default 5s.
	CancellationPeriod time.Duration `env:"CANCELLATION_PERIOD, overwrite"`
	// FlushTimeout bounds the last storing of outcomes, after the handlers. Default 5s.
	FlushTimeout time.Duration `env:"FLUSH_TIMEOUT, overwrite"`

	// CompletionDelay is how long an outcome waits for others to be stored with it in one call. Default 10ms.
	CompletionDelay time.Duration `env:"COMPLETION_DELAY, overwrite"`

	// RecoveryEnabled lets this worker run the three recovery procedures itself, for editions with no SQL Server Agent (Express, Azure SQL
	// Database). Default false. Several workers may do so side by side.
	RecoveryEnabled bool `env:"RECOVERY_ENABLED, overwrite"`
	// RecoveryInterval is how often it resets fetched jobs and rescues zombies; PurgeInterval how often it purges history. Defaults 15s
	// and 1h.
	RecoveryInterval time.Duration `env:"RECOVERY_INTERVAL, overwrite"`
	PurgeInterval    time.Duration `env:"PURGE_INTERVAL, overwrite"`

	// Version is what the worker tells chokaq.Workers about the program. Default: the main module's version.
	Version string `env:"-"`
}

// ShutdownBound is the longest time from a stop to the return of Run, whatever the database and the handlers do.
func (c WorkerConfig) ShutdownBound() time.Duration {
	c = c.withDefaults()
	return max(c.WorkerShutdownGracePeriod, c.PrefetchedJobReleaseTimeout) + c.CancellationPeriod + c.FlushTimeout
}

func (c WorkerConfig) withDefaults() WorkerConfig {
	orDefault := func(d *time.Duration, otherwise time.Duration) {
		if *d == 0 {
			*d = otherwise
		}
	}
	if len(c.Queues) == 0 {
		c.Queues = []string{DefaultQueue}
	}
	if c.Handlers == 0 {
		c.Handlers = 10
	}
	if c.Prefetch == 0 {
		c.Prefetch = min(2*c.Handlers, maxBatch)
	}
	orDefault(&c.PollIntervalMin, 100*time.Millisecond)
	orDefault(&c.PollIntervalMax, max(2*time.Second, c.PollIntervalMin))
	orDefault(&c.CommandTimeout, 15*time.Second)
	orDefault(&c.WorkerShutdownGracePeriod, 30*time.Second)
	orDefault(&c.PrefetchedJobReleaseTimeout, 5*time.Second)
	orDefault(&c.CancellationPeriod, 5*time.Second)
	orDefault(&c.FlushTimeout, 5*time.Second)
	orDefault(&c.CompletionDelay, 10*time.Millisecond)
	orDefault(&c.RecoveryInterval, 15*time.Second)
	orDefault(&c.PurgeInterval, time.Hour)
	if c.Version == "" {
		c.Version = buildVersion()
	}
	return c
}

// check returns every fault of a config that has its defaults. The names are those of the fields.
func (c WorkerConfig) check() []error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }

	if len(c.Queues) > 100 {
		fault("Queues: at most 100 queues, and there are %d", len(c.Queues))
	}
	seen := make(map[string]bool)
	for i, queue := range c.Queues {
		if queue == "" {
			fault("Queues: name %d of %d is empty", i+1, len(c.Queues))
			continue
		}
		if !isName(queue, 64) {
			fault("Queues: %q: a queue name has 1 to 64 characters, with no leading or trailing space and no control character", queue)
		}
		if seen[queue] {
			fault("Queues: %q is named twice", queue)
		}
		seen[queue] = true
	}
	if c.Handlers < 1 || c.Handlers > maxHandlers {
		fault("Handlers: must be 1 to %d, and is %d", maxHandlers, c.Handlers)
	}
	if c.Prefetch < 1 || c.Prefetch > maxBatch {
		fault("Prefetch: must be 1 to %d, and is %d", maxBatch, c.Prefetch)
	}
	for _, d := range []struct {
		name        string
		value       time.Duration
		least, most time.Duration
	}{
		{"PollIntervalMin", c.PollIntervalMin, time.Millisecond, time.Hour},
		{"PollIntervalMax", c.PollIntervalMax, time.Millisecond, time.Hour},
		{"CommandTimeout", c.CommandTimeout, 10 * time.Millisecond, time.Hour},
		{"WorkerShutdownGracePeriod", c.WorkerShutdownGracePeriod, time.Millisecond, 7 * 24 * time.Hour},
		{"PrefetchedJobReleaseTimeout", c.PrefetchedJobReleaseTimeout, time.Millisecond, time.Hour},
		{"CancellationPeriod", c.CancellationPeriod, time.Millisecond, time.Hour},
		{"FlushTimeout", c.FlushTimeout, time.Millisecond, time.Hour},
		{"CompletionDelay", c.CompletionDelay, 0, time.Minute},
		{"RecoveryInterval", c.RecoveryInterval, 10 * time.Millisecond, time.Hour},
		{"PurgeInterval", c.PurgeInterval, 10 * time.Millisecond, 7 * 24 * time.Hour},
	} {
		if d.value < d.least || d.value > d.most {
			fault("%s: must be %v to %v, and is %v", d.name, d.least, d.most, d.value)
		}
	}
	if c.HeartbeatInterval < 0 {
		fault("HeartbeatInterval: must be positive, and is %v", c.HeartbeatInterval)
	}
	if c.PollIntervalMin > c.PollIntervalMax {
		fault("PollIntervalMin: must not be above PollIntervalMax, and is %v, above %v", c.PollIntervalMin, c.PollIntervalMax)
	}
	return faults
}

// checkTimeouts settles the heartbeat interval against the timeouts that the database owns.
func (c *WorkerConfig) checkTimeouts(recovery recoveryTimeouts) error {
	shortest := min(recovery.FetchedJob, recovery.ProcessingZombie)
	if c.HeartbeatInterval == 0 {
		c.HeartbeatInterval = min(15*time.Second, shortest/10)
	}
	var faults []error
	for _, t := range []struct {
		name  string
		value time.Duration
	}{{"Recovery.FetchedJobTimeout", recovery.FetchedJob}, {"Recovery.ProcessingZombieTimeout", recovery.ProcessingZombie}} {
		if c.HeartbeatInterval > t.value/3 {
			faults = append(faults, fmt.Errorf("HeartbeatInterval is %v and %s is %v (in the database, for the queues served): three heartbeats must fit into the timeout, or recovery takes away jobs that are running; lower the interval to %v or less, or raise the timeout (chokaq-worker settings set, or EXEC chokaq.SetSetting)",
				c.HeartbeatInterval, t.name, t.value, t.value/3))
		}
	}
	return configError(faults)
}

// isName applies the rule of chokaq.CheckName.
func isName(name string, most int) bool {
	units := len(utf16.Encode([]rune(name)))
	if units < 1 || units > most || name[0] == ' ' || name[len(name)-1] == ' ' {
		return false
	}
	for _, r := range name {
		if r < ' ' || r == 0x7f {
			return false
		}
	}
	return true
}

// configError joins faults into one ErrConfig, or is nil.
func configError(faults []error) error {
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrConfig, errors.Join(faults...))
}
