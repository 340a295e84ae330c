package config

import (
	"strings"
	"time"

	"github.com/chokaq/chokaq/driver"
)

// Connection is what every command that talks to a database needs.
type Connection struct {
	DSN string `env:"DSN, overwrite" secret:"true" help:"data source name: sqlserver://user:password@host?database=name (prefer the variable: other users of the machine see flags)"`
	// DSNFile keeps it out of the environment: a credential of systemd, a mounted secret.
	DSNFile string `env:"DSN_FILE, overwrite" help:"file that holds the data source name, in the place of CHOKAQ_DSN"`
}

// Logging is how a command logs.
type Logging struct {
	Level  string `env:"LOG_LEVEL, overwrite" help:"debug, info, warn or error (default info)"`
	Format string `env:"LOG_FORMAT, overwrite" help:"console or json (default console on a terminal, json elsewhere)"`
}

// Worker is everything that run reads.
type Worker struct {
	Connection
	Logging
	driver.WorkerConfig
	// Programs are the handlers: one a line, or one a flag.
	Programs Lines `env:"HANDLER, overwrite" help:"TYPE[timeout=1m,safe-to-retry]=PROGRAM ARGUMENTS: the program that runs jobs of a type (*: of every other type); repeat it for more types (in the variable: one a line)"`
	// HandlersFile names the file of handlers.
	HandlersFile string `env:"HANDLERS_FILE, overwrite" help:"YAML file of handlers, programs and HTTP endpoints (deploy/handlers.example.yaml shows every field); beside --handler"`
	// ProgramKillAfter is how long a canceled program has after SIGTERM.
	ProgramKillAfter time.Duration `env:"PROGRAM_KILL_AFTER, overwrite" help:"how long a canceled program has between SIGTERM and SIGKILL (default: three fifths of the cancellation period)"`
	// AdminAddr serves /livez, /readyz and /metrics.
	AdminAddr string `env:"ADMIN_ADDR, overwrite" help:"address on which to serve /livez, /readyz and /metrics over HTTP, such as :8080 (default: none)"`
	// AdminPprof serves /debug/pprof/ there too.
	AdminPprof bool `env:"ADMIN_PPROF, overwrite" help:"serve Go's profiles at /debug/pprof/ of the admin address; they tell much about the process (default false)"`
}

// Lines is a setting of several values that may hold commas: one a line in a variable, one a flag.
type Lines []string

// EnvDecode splits at line ends.
func (l *Lines) EnvDecode(text string) error {
	*l = nil
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			*l = append(*l, line)
		}
	}
	return nil
}

// workerHelp describes the settings of driver.WorkerConfig.
var workerHelp = map[string]string{
	"QUEUES":                                 "queues to serve, comma-separated, in order of preference (default \"default\")",
	"HANDLERS":                               "handler slots: how many jobs run at a time (default 10)",
	"PREFETCH":                               "how many claimed jobs wait in memory for a slot (default twice the handlers)",
	"POLL_INTERVAL_MIN":                      "shortest wait between two claims that found little (default 100ms)",
	"POLL_INTERVAL_MAX":                      "longest wait between two claims that found little (default 2s)",
	"HEARTBEAT_INTERVAL":                     "time between two heartbeats (default 15s, or a tenth of the shortest recovery timeout)",
	"COMMAND_TIMEOUT":                        "bound of one call of a procedure (default 15s)",
	"SQLSERVER_WORKER_SHUTDOWN_GRACE_PERIOD": "how long running jobs may go on after a stop was asked for (default 30s)",
	"SQLSERVER_PREFETCHED_JOB_RELEASE_TIMEOUT": "how long a stop tries to give back what has not started (default 5s)",
	"CANCELLATION_PERIOD":                      "how long canceled jobs have to return after the grace period (default 5s)",
	"FLUSH_TIMEOUT":                            "bound of the last storing of outcomes (default 5s)",
	"COMPLETION_DELAY":                         "how long an outcome waits to share a call with others (default 10ms)",
	"RECOVERY_ENABLED":                         "let this worker run recovery, where there is no SQL Server Agent (default false)",
	"RECOVERY_INTERVAL":                        "how often it resets fetched jobs and rescues zombies (default 15s)",
	"PURGE_INTERVAL":                           "how often it purges history (default 1h)",
}

// foreign variables have the prefix and belong to others: chokaq-worker gives the facts of a job to the programs that
// it runs, which may run it in turn; and the project's tests have one.
func foreign(variable string) bool {
	return strings.HasPrefix(variable, Prefix+"JOB_") || variable == Prefix+"TEST_DSN"
}
