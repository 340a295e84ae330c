package deploy

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dashboard is what Grafana and this test read of the file.
type dashboard struct {
	UID, Title string
	Templating struct {
		List []struct {
			Name  string
			Type  string
			Query any
		}
	}
	Panels []struct {
		ID                       int
		Title, Type, Description string
		GridPos                  struct{ H, W, X, Y int }
		Datasource               struct{ UID string }
		Targets                  []struct{ RefID, Expr, LegendFormat string }
	}
}

// Every query of the dashboard is PromQL over metrics and labels that exist, and the panels do not lie on each other.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("grafana/chokaq.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	metrics := readMetrics(t)
	known := slices.Clone(targetLabels)
	for _, m := range metrics {
		known = append(known, m.labels...)
	}
	inPlace := strings.NewReplacer("$queue", ".*", "$instance", ".*", "$__rate_interval", "5m")
	rows := make(map[string]bool)
	ids, cells, used := make(map[int]bool), make(map[[2]int]string), make(map[string]bool)
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%s: the id %d is used twice", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, taken := cells[[2]int{x, y}]; taken || x >= 24 {
					t.Fatalf("%s lies on %s, or beyond the edge", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			rows[p.Title] = true
			continue
		}
		if p.Description == "" || len(p.Targets) == 0 || p.Datasource.UID != "${datasource}" {
			t.Errorf("%s: no description, query or data source", p.Title)
		}
		for _, target := range p.Targets {
			where := fmt.Sprintf("%s, %s", p.Title, target.RefID)
			checkExpression(t, metrics, where, inPlace.Replace(target.Expr))
			for _, label := range regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(target.LegendFormat, -1) {
				if !slices.Contains(known, label[1]) || !strings.Contains(target.Expr, label[1]) {
					t.Errorf("%s: the legend names the label %s, which the query does not give", where, label[1])
				}
			}
			for _, name := range regexp.MustCompile(`chokaq_[a-z_]+`).FindAllString(target.Expr, -1) {
				used[regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")] = true
			}
		}
	}
	for _, want := range []string{"Queues", "Workers", "Handlers", "Database", "Stops"} {
		if !rows[want] {
			t.Errorf("there is no row %q", want)
		}
	}
	for name := range metrics {
		if !used[name] {
			t.Errorf("no panel shows %s", name)
		}
	}
	for _, v := range d.Templating.List {
		query, ok := v.Query.(map[string]any)
		if !ok {
			continue
		}
		match := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`).FindStringSubmatch(fmt.Sprint(query["query"]))
		if match == nil || !slices.Contains(append(slices.Clone(targetLabels), metrics[match[1]].labels...), match[2]) {
			t.Errorf("variable %s: %v", v.Name, v.Query)
		}
	}
}
