package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/config"
	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/program"
)

// compose is what this test reads of docker-compose.mssql.yml.
type compose struct {
	Services map[string]struct {
		Image           string
		Build           string
		Command         []string
		Environment     map[string]string
		StopGracePeriod string                                `yaml:"stop_grace_period"`
		DependsOn       map[string]struct{ Condition string } `yaml:"depends_on"`
		Healthcheck     struct {
			Test    []string
			Retries int
		}
	}
}

func readCompose(t *testing.T) compose {
	t.Helper()
	text, err := os.ReadFile("../../docker-compose.mssql.yml")
	if err != nil {
		t.Fatal(err)
	}
	var c compose
	if err := yaml.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestComposeServer(t *testing.T) {
	server := readCompose(t).Services["mssql"]
	if !strings.HasPrefix(server.Image, "mcr.microsoft.com/mssql/server:") || server.Environment["MSSQL_AGENT_ENABLED"] != "true" || server.Environment["ACCEPT_EULA"] != "Y" {
		t.Errorf("%+v", server)
	}
	if len(server.Healthcheck.Test) == 0 || !strings.Contains(strings.Join(server.Healthcheck.Test, " "), "sqlcmd") || server.Healthcheck.Retries == 0 {
		t.Errorf("health check: %+v", server.Healthcheck)
	}
}

func TestComposeCommands(t *testing.T) {
	workers := 0
	for name, service := range readCompose(t).Services {
		if service.Build == "" {
			continue
		}
		a := &app{}
		found, args, err := a.rootCommand().Find(service.Command)
		if err != nil || found.HasSubCommands() {
			t.Errorf("%s: there is no command %q", name, service.Command)
			continue
		}
		if err := found.ParseFlags(args); err != nil {
			t.Errorf("%s: %q: %v", name, service.Command, err)
		}
		switch found.Name() {
		case "run":
			workers++
			checkComposeWorker(t, name, found, service.Environment, service.StopGracePeriod)
			if service.DependsOn["migrate"].Condition != "service_completed_successfully" {
				t.Errorf("%s does not wait for the schema", name)
			}
		case "up":
			if on, err := found.Flags().GetBool("agent-jobs"); err != nil || !on {
				t.Errorf("%s does not install the Agent jobs", name)
			}
		}
	}
	if workers < 2 {
		t.Errorf("%d workers", workers)
	}
}

// checkComposeWorker checks that a worker's settings are good, and that it is given the time to stop that they ask for.
func checkComposeWorker(t *testing.T, name string, run *cobra.Command, environment map[string]string, grace string) {
	t.Helper()
	var environ []string
	for variable, value := range environment {
		environ = append(environ, variable+"="+value)
	}
	settings, faults := loadWorker(environ, run.Flags())
	for _, text := range settings.Programs {
		// The program lies in the image and need not be here.
		_, more := program.ParseSpec(strings.Replace(text, "=/usr/local/bin/chokaq-worker", "=sh", 1))
		faults = append(faults, more...)
	}
	if len(settings.Programs) == 0 || len(faults) > 0 {
		t.Errorf("%s: %v", name, faults)
	}
	period, err := time.ParseDuration(grace)
	if bound := settings.ShutdownBound(); err != nil || period < bound+5*time.Second {
		t.Errorf("%s: stop_grace_period is %q, and the worker may need %v: give it 5s more than that", name, grace, bound)
	}
}

func loadWorker(environ []string, flags *pflag.FlagSet) (config.Worker, []error) {
	var settings config.Worker
	faults := config.Load(environ, flags, &settings)
	return settings, faults
}

func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for _, want := range []string{"STOPSIGNAL SIGTERM", `CMD ["run"]`} {
		if !slices.Contains(lines, want) {
			t.Errorf("the Dockerfile has no line %q", want)
		}
	}
}
