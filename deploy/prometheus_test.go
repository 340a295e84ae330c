package deploy

import (
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
)

// documented is a metric as docs/observability.md has it, which a test of the driver compares with what a worker reports.
type documented struct {
	kind   string
	labels []string
}

func readMetrics(t *testing.T) map[string]documented {
	t.Helper()
	text, err := os.ReadFile("../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]documented)
	for _, row := range regexp.MustCompile("(?m)^\\| `chokaq[^`]+` \\| `(chokaq_[a-z_]+)` \\| ([a-z]+) \\| ([^|]*)\\|").FindAllStringSubmatch(string(text), -1) {
		m := documented{kind: row[2]}
		for _, label := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[3], -1) {
			m.labels = append(m.labels, label[1])
		}
		all[row[1]] = m
	}
	if len(all) < 25 {
		t.Fatalf("docs/observability.md has %d metrics", len(all))
	}
	return all
}

// targetLabels are those that Prometheus adds.
var targetLabels = []string{"job", "instance"}

// values are what labels with a fixed set of values can be.
var values = map[string][]string{
	"state":     {"pending", "scheduled", "fetched", "processing", "dead"},
	"reason":    {"Failed", "Rejected", "Interrupted", "Zombie", "Cancelled"},
	"operation": {"start", "outcome"},
	"procedure": {"ClaimJobs", "StartJobs", "HeartbeatJobs", "CompleteJobs", "FailJobs", "ReleaseJobs", "ResetFetchedJobs", "RescueZombieJobs"},
}

// checkExpression parses an expression, and checks that each metric exists, has the labels that it is chosen and grouped by, and that their values can occur.
func checkExpression(t *testing.T, metrics map[string]documented, where, expression string) {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	selectors := 0
	parser.Inspect(parsed, func(node parser.Node, path []parser.Node) error {
		v, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		selectors++
		name, labels := v.Name, targetLabels
		m, known := metrics[name]
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			base, cut := strings.CutSuffix(name, suffix)
			if h := metrics[base]; cut && h.kind == "histogram" {
				m, known = h, true
				if suffix == "_bucket" {
					labels = append(slices.Clone(labels), "le")
				}
			}
		}
		if !known || m.kind == "histogram" && metrics[name].kind == "histogram" {
			t.Errorf("%s: there is no metric %s", where, name)
			return nil
		}
		labels = append(slices.Clone(labels), m.labels...)
		has := func(label string) {
			if !slices.Contains(labels, label) {
				t.Errorf("%s: %s has no label %s, only %q", where, name, label, labels)
			}
		}
		for _, matcher := range v.LabelMatchers {
			if matcher.Name == model.MetricNameLabel {
				continue
			}
			has(matcher.Name)
			if possible := values[matcher.Name]; possible != nil && !slices.ContainsFunc(possible, matcher.Matches) {
				t.Errorf("%s: %s is never %s", where, name, matcher)
			}
		}
		for _, above := range path[chosenBy(path, node):] {
			if a, ok := above.(*parser.AggregateExpr); ok && !a.Without {
				for _, label := range a.Grouping {
					has(label)
				}
			}
		}
		return nil
	})
	if selectors == 0 {
		t.Errorf("%s: %q names no metric", where, expression)
	}
}

// chosenBy is from where on the path to a selector its labels count: what stands right of "and" and "unless" only chooses, and its labels do not come out.
func chosenBy(path []parser.Node, node parser.Node) int {
	from := 0
	for i, above := range path {
		below := node
		if i+1 < len(path) {
			below = path[i+1]
		}
		if b, ok := above.(*parser.BinaryExpr); ok && (b.Op == parser.LAND || b.Op == parser.LUNLESS) && b.RHS == below {
			from = i + 1
		}
	}
	return from
}

func readRules(t *testing.T) []rulefmt.Rule {
	t.Helper()
	text, err := os.ReadFile("prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	groups, faults := rulefmt.Parse(text, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	var rules []rulefmt.Rule
	for _, g := range groups.Groups {
		rules = append(rules, g.Rules...)
	}
	return rules
}

// history is what is scraped once a minute, in the notation of Prometheus' own tests, and whether the alert has fired at the end of an hour and a half.
type history struct {
	series string
	fires  bool
}

const (
	minutes = 90
	steady  = "x90" // the same value, for as long
)

// histories has, for each alert, one in which it must fire, and those in which it must not.
var histories = map[string][]history{
	"ChokaqRecoveryLate": {
		{`chokaq_recovery_late{instance="a"} 0x50 1x40`, true},
		{`chokaq_recovery_late{instance="a"} 0` + steady, false},
		{`chokaq_recovery_late{instance="a"} 0x89 1`, false}, // not for long enough
	},
	"ChokaqQueueWithoutReadyWorkers": {
		{`chokaq_queue_jobs{job="w", instance="a", queue="q", state="pending"} 3` + steady + `
		  chokaq_queue_paused{job="w", instance="a", queue="q"} 0` + steady + `
		  chokaq_worker_ready{job="w", instance="a"} 1x50 0x40`, true},
		{`chokaq_queue_jobs{job="w", instance="a", queue="q", state="pending"} 3` + steady + `
		  chokaq_queue_paused{job="w", instance="a", queue="q"} 0` + steady + `
		  chokaq_queue_paused{job="w", instance="b", queue="q"} 0` + steady + `
		  chokaq_worker_ready{job="w", instance="a"} 0` + steady + `
		  chokaq_worker_ready{job="w", instance="b"} 1` + steady, false}, // another one is ready
		{`chokaq_queue_jobs{job="w", instance="a", queue="q", state="pending"} 0` + steady + `
		  chokaq_queue_paused{job="w", instance="a", queue="q"} 0` + steady + `
		  chokaq_worker_ready{job="w", instance="a"} 0` + steady, false}, // there is nothing to do
		{`chokaq_queue_jobs{job="w", instance="a", queue="q", state="pending"} 3` + steady + `
		  chokaq_queue_jobs{job="w", instance="b", queue="r", state="pending"} 0` + steady + `
		  chokaq_queue_paused{job="w", instance="a", queue="q"} 0` + steady + `
		  chokaq_queue_paused{job="w", instance="b", queue="r"} 0` + steady + `
		  chokaq_worker_ready{job="w", instance="a"} 0` + steady + `
		  chokaq_worker_ready{job="w", instance="b"} 1` + steady, true}, // the one that is ready serves another queue
	},
	"ChokaqQueueNoLongerReported": {
		{`chokaq_queue_oldest_due_age_seconds{instance="a", queue="q"} 0x50 _x40`, true},
		{`chokaq_queue_oldest_due_age_seconds{instance="a", queue="q"} 0` + steady, false},
		{`chokaq_queue_oldest_due_age_seconds{instance="a", queue="q"} 0x50 _x40
		  chokaq_queue_oldest_due_age_seconds{instance="b", queue="q"} _x45 0x45`, false}, // replaced by another
	},
	"ChokaqJobsWaitTooLong": {
		{`chokaq_queue_oldest_due_age_seconds{instance="a", queue="q"} 0+60` + steady, true},
		{`chokaq_queue_oldest_due_age_seconds{instance="a", queue="q"} 600` + steady, false},
		{`chokaq_queue_oldest_due_age_seconds{instance="a", queue="q"} 0+60` + steady + `
		  chokaq_queue_paused{instance="a", queue="q"} 1` + steady, false},
	},
	"ChokaqZombies": {
		{`chokaq_queue_dead{instance="a", queue="q", reason="Zombie"} 2x80 3x10`, true},
		{`chokaq_queue_dead{instance="a", queue="q", reason="Zombie"} 0x70 _x20
		  chokaq_queue_dead{instance="b", queue="q", reason="Zombie"} _x80 3x10`, true}, // the worker that replaces the killed one has seen no other number
		{`chokaq_queue_dead{instance="a", queue="q", reason="Zombie"} 2` + steady, false}, // old ones
		{`chokaq_queue_dead{instance="a", queue="q", reason="Zombie"} 9x80 2x10`, false},  // reviewed
		{`chokaq_queue_dead{instance="a", queue="q", reason="Failed"} 2x80 3x10`, false},
	},
	"ChokaqInterruptedJobs": {
		{`chokaq_queue_dead{instance="a", queue="q", reason="Interrupted"} 0x80 1x10`, true},
		{`chokaq_queue_dead{instance="a", queue="q", reason="Interrupted"} 4` + steady, false},
	},
	"ChokaqJobsDie": {
		{`chokaq_queue_dead{instance="a", queue="q", reason="Failed"} 0x80 11x10`, true},
		{`chokaq_queue_dead{instance="a", queue="q", reason="Failed"} 0x80 9x10`, false},
		{`chokaq_queue_dead{instance="a", queue="q", reason="Failed"} 500` + steady, false},
	},
	"ChokaqHeartbeatsStale": {
		{`chokaq_heartbeat_age_seconds{instance="a"} 10x70 70+60x19`, true},
		{`chokaq_heartbeat_age_seconds{instance="a"} 15` + steady, false},
	},
	"ChokaqClaimsFail": {
		{`chokaq_database_call_errors_total{instance="a", procedure="ClaimJobs", error_type="1222"} 0x50 0+10x40`, true},
		{`chokaq_database_call_errors_total{instance="a", procedure="ClaimJobs", error_type="1205"} 0x80 1x10`, false}, // one deadlock
		{`chokaq_database_call_errors_total{instance="a", procedure="FailJobs", error_type="1222"} 0+10` + steady, false},
	},
	"ChokaqDatabaseErrors": {
		{`chokaq_database_call_errors_total{instance="a", procedure="FailJobs", error_type="1222"} 0+10` + steady + `
		  chokaq_database_call_duration_seconds_count{instance="a", procedure="FailJobs"} 0+100` + steady, true},
		{`chokaq_database_call_errors_total{instance="a", procedure="FailJobs", error_type="1222"} 0+1` + steady + `
		  chokaq_database_call_duration_seconds_count{instance="a", procedure="FailJobs"} 0+100` + steady, false},
	},
	"ChokaqOutcomesWait": {
		{`chokaq_outcomes_waiting{instance="a"} 0x50 2x40`, true},
		{`chokaq_outcomes_waiting{instance="a"} 1 0 2 0 1 0 1 0 2 0 1 0 1 0 0 0 1`, false},
		{`chokaq_outcomes_waiting{instance="a"} 0x80 1x4 0x6`, false},
	},
	"ChokaqClaimsLost": {
		{`chokaq_jobs_refused_total{instance="a", queue="q", job_type="t", operation="outcome"} 1x80 2x10`, true},
		{`chokaq_jobs_refused_total{instance="a", queue="q", job_type="t", operation="outcome"} _x80 1x10`, true}, // the first one makes the series
		{`chokaq_jobs_refused_total{instance="a", queue="q", job_type="t", operation="outcome"} 1` + steady, false},
	},
	"ChokaqStopStuck": {
		{`chokaq_shutdown_step{instance="a"} 0x50 5x40`, true},
		{`chokaq_shutdown_step{instance="a"} 0x80 5x10`, false},
	},
}

// fires evaluates an alert as Prometheus does, once a minute, and says whether it fires at the end.
func fires(t *testing.T, rule rulefmt.Rule, series string) bool {
	t.Helper()
	storage := promqltest.LoadedStorage(t, "load 1m\n  "+series+"\n")
	defer storage.Close()
	engine := promqltest.NewTestEngine(t, false, 0, 100_000)
	since := -1
	for minute := range minutes + 1 {
		at := time.Unix(int64(minute)*60, 0)
		query, err := engine.NewInstantQuery(t.Context(), storage, promql.NewPrometheusQueryOpts(false, 0, nil), rule.Expr, at)
		if err != nil {
			t.Fatal(err)
		}
		result := query.Exec(t.Context())
		vector, err := result.Vector()
		if err != nil {
			t.Fatal(err)
		}
		active := len(vector) > 0
		query.Close()
		switch {
		case !active:
			since = -1
		case since < 0:
			since = minute
		}
	}
	return since >= 0 && time.Duration(minutes-since)*time.Minute >= time.Duration(rule.For)
}

func TestAlerts(t *testing.T) {
	metrics := readMetrics(t)
	text, err := os.ReadFile("../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, rule := range readRules(t) {
		t.Run(rule.Alert, func(t *testing.T) {
			seen[rule.Alert] = true
			checkExpression(t, metrics, rule.Alert, rule.Expr)
			if rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" || !slices.Contains([]string{"critical", "warning"}, rule.Labels["severity"]) {
				t.Errorf("no summary, description or severity: %+v", rule)
			}
			if !strings.Contains(string(text), "| `"+rule.Alert+"` |") {
				t.Error("docs/observability.md does not list it")
			}
			fired, quiet := 0, 0
			for _, h := range histories[rule.Alert] {
				if got := fires(t, rule, h.series); got != h.fires {
					t.Errorf("fires: %v, want %v, with\n%s", got, h.fires, h.series)
				}
				if h.fires {
					fired++
				} else {
					quiet++
				}
			}
			if fired == 0 || quiet == 0 {
				t.Error("there is no history in which it must fire, or none in which it must not")
			}
		})
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `(Chokaq[A-Za-z]+)`").FindAllStringSubmatch(string(text), -1) {
		if !seen[row[1]] {
			t.Errorf("docs/observability.md lists %s, which is not in alerts.yaml", row[1])
		}
	}
}

// The queries of the autoscalers' examples are good, too.
func TestAutoscalersAskForTheMaximum(t *testing.T) {
	m := readManifests(t)
	for _, trigger := range m.keda.Spec.Triggers {
		checkExpression(t, readMetrics(t), "keda.example.yaml", trigger.Metadata["query"])
		if !strings.Contains(trigger.Metadata["query"], "max by (queue, state)") {
			t.Errorf("every worker reports the whole queue: %s", trigger.Metadata["query"])
		}
	}
	text, err := os.ReadFile("kubernetes/hpa.example.yaml")
	if err != nil || len(m.keda.Spec.Triggers) == 0 || !strings.Contains(string(text), m.keda.Spec.Triggers[0].Metadata["query"]) {
		t.Errorf("hpa.example.yaml has another query: %v", err)
	}
}
