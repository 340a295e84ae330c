package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

func (a *app) printAdvice(r *advised, f adviseFlags) error {
	spread := fmt.Sprintf("a full worker of %d handlers is counted with", f.handlers)
	if r.Workers > 0 {
		spread = fmt.Sprintf("spread over %s and %s, %s handlers run in each on average", counted(r.Workers, "worker"), counted(r.WindowHours, "hour"), figures(r.Running))
	}
	a.paragraph(fmt.Sprintf("%d jobs%s succeeded within %s; %s. A stop with a grace period of so much:", r.Jobs, f.of(), counted(r.SinceHours, "hour"), spread))
	var rows [][]string
	for _, e := range r.Effects {
		name := short(time.Duration(e.GracePeriod))
		if e.GracePeriod == r.Current {
			name += " (now)"
		}
		rows = append(rows, e.cells(name))
	}
	headings := []string{"Grace", "Stops leaving work", "Jobs left per stop", "Waits: half", "99%"}
	if err := a.printTable(a.stdout, headings, rows); err != nil {
		return err
	}
	if f.explain {
		a.explainAdvice(r, f)
	}
	if err := a.printAdviceByType(r); err != nil {
		return err
	}
	if err := a.printStopsSeen(r); err != nil {
		return err
	}
	a.printConsequences(r)
	return nil
}

func (e effect) cells(name string) []string {
	return []string{name, percent(e.StopsLeavingWork), figures(e.JobsLeftPerStop), e.HandlersP50.String(), e.HandlersP99.String()}
}

func (a *app) printAdviceByType(r *advised) error {
	a.paragraph(fmt.Sprintf("\nBy queue and type, with a grace period of %s:", short(time.Duration(r.Advice.GracePeriod))))
	var rows [][]string
	few := false
	for _, t := range r.Types {
		jobs := strconv.FormatInt(t.Jobs, 10)
		if t.Jobs < fewJobs {
			jobs, few = jobs+" *", true
		}
		rows = append(rows, []string{t.Queue, t.JobType, jobs, t.Mean.String(), t.Longest.String(), figures(t.Running), percent(t.Outlasts), percent(t.StopsLeavingWork)})
	}
	err := a.printTable(a.stdout, []string{"Queue", "Type", "Jobs", "Mean", "Longest", "Running", "Cut short", "Stops"}, rows, "Queue", "Type")
	if few {
		a.paragraph(fmt.Sprintf("* fewer than %d jobs: what is said of the type is a guess", fewJobs))
	}
	return err
}

func (a *app) printStopsSeen(r *advised) error {
	if len(r.Stops) == 0 {
		a.paragraph("\nNo stop is recorded in this time, to compare with.")
		return nil
	}
	a.paragraph("\nWhat stops really did, and what is computed for them (in parentheses):")
	var rows [][]string
	and := func(seen, computed string) string { return seen + " (" + computed + ")" }
	for _, s := range r.Stops {
		rows = append(rows, []string{short(time.Duration(s.GracePeriod)), strconv.Itoa(s.Stops), and(percent(s.LeavingWork), percent(s.Computed.StopsLeavingWork)),
			and(figures(s.JobsLeftPerStop), figures(s.Computed.JobsLeftPerStop)), and(figures(s.Running), figures(r.Running)),
			and(s.HandlersP50.String(), s.Computed.HandlersP50.String()), and(s.HandlersP99.String(), s.Computed.HandlersP99.String())})
	}
	if err := a.printTable(a.stdout, []string{"Grace", "Stops", "Leaving work", "Left per stop", "Running", "Half", "99%"}, rows, "Leaving work", "Left per stop", "Running", "Half", "99%"); err != nil {
		return err
	}
	if s := r.Stops[0]; s.Stops >= 10 && s.Running > 2*r.Running+1 {
		a.paragraph(fmt.Sprintf("Workers ran more when they were stopped than on average: stops come at busy times. Count with --handlers %d.", int(s.Running+0.5)))
	}
	return nil
}

// printConsequences says what to set.
func (a *app) printConsequences(r *advised) {
	grace := short(time.Duration(r.Advice.GracePeriod))
	a.paragraph(fmt.Sprintf("\nAt most %s of the stops leave work (computed: %s) with", percent(r.Target), percent(r.Advice.StopsLeavingWork)))
	kill := int(time.Duration(r.TerminationGracePeriod) / time.Second)
	fmt.Fprintln(a.stdout, "  CHOKAQ_SQLSERVER_WORKER_SHUTDOWN_GRACE_PERIOD="+grace)
	for _, setting := range []struct{ of, text string }{
		{"Kubernetes", fmt.Sprintf("terminationGracePeriodSeconds: %d", kill)}, {"systemd", fmt.Sprintf("TimeoutStopSec=%d", kill)}, {"Compose", fmt.Sprintf("stop_grace_period: %ds", kill)},
	} {
		fmt.Fprintf(a.stdout, "  %-36s (%s)\n", setting.text, setting.of)
	}
	a.paragraph(fmt.Sprintf("Now it is %s, which needs %d seconds before the process is killed. Heartbeats (every %s) go on during a stop, so Recovery.ProcessingZombieTimeout (%s) and Recovery.FetchedJobTimeout (%s) need not be longer than the grace period; "+
		"the jobs of a worker that is killed all the same are found by recovery that long after its last heartbeat.",
		short(time.Duration(r.Current)), int(time.Duration(r.CurrentTermination)/time.Second), short(time.Duration(r.HeartbeatInterval)), short(time.Duration(r.ZombieTimeout)), short(time.Duration(r.FetchedJobTimeout))))
	switch {
	case r.LongerJobs == 0:
		a.paragraph(fmt.Sprintf("No job of these ran longer than %s: that longer ones do not come is not known.", grace))
	case r.LongerJobs < 10:
		a.paragraph(fmt.Sprintf("This rests on %d jobs that ran longer than %s: take it for a rough figure.", r.LongerJobs, grace))
	default:
		a.paragraph(fmt.Sprintf("This rests on %d jobs that ran longer than %s.", r.LongerJobs, grace))
	}
}

// explainAdvice shows the computation with its numbers.
func (a *app) explainAdvice(r *advised, f adviseFlags) {
	a.paragraph(`
How it is computed. A stop comes at a moment that has nothing to do with the jobs, and meets a handler in proportion to how long it runs, at a moment spread evenly over its run. So the share of running handlers that have more than g to go is p(g) = E[max(D - g, 0)] / E[D], where D are the durations in the archive, counted in steps of 19 percent.`)
	if r.Workers > 0 {
		a.paragraph(fmt.Sprintf("Handlers of a type that run in a worker at a moment, L: the sum of its durations, divided by %s and %s. The archive covers %d of the %s asked for, as far as can be seen.", counted(r.WindowHours, "hour"), counted(r.Workers, "worker"), r.WindowHours, counted(r.SinceHours, "hour")))
	} else {
		a.paragraph(fmt.Sprintf("Handlers of a type that run at a moment, L: its share of the sum of all durations, times %d.", f.handlers))
	}
	a.paragraph("A stop cuts short the sum of L p(g) jobs on average. It leaves none with probability exp(-sum), as if handlers started independently of each other: where many start at once, fewer stops leave work, and each leaves more. Half of the stops, and 99 of 100, have no handler left after the times in the last columns: these solve exp(-sum of L p(t)) = 0.5 and 0.99, and are the grace period where it ends first. Attempts that failed are not in the archive and do not count; retries of safe-to-retry handlers are cut short as all others, but leave nothing for review.")
	for _, t := range r.Types {
		a.paragraph(fmt.Sprintf("%s, %s: mean %s, L = %s, p(%s) = %s, L p = %s", t.Queue, t.JobType, t.Mean, figures(t.Running), short(time.Duration(r.Advice.GracePeriod)), figures(t.Outlasts), figures(t.JobsLeftPerStop)))
	}
}

// paragraph prints a text in lines no wider than the screen.
func (a *app) paragraph(s string) {
	if rest, ok := strings.CutPrefix(s, "\n"); ok {
		fmt.Fprintln(a.stdout)
		s = rest
	}
	for _, line := range wrap(printable(s), a.widthOf(a.stdout)) {
		fmt.Fprintln(a.stdout, strings.TrimRight(line, " "))
	}
}

// counted is a number with what it counts.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// percent is a share as people say it.
func percent(share float64) string {
	switch p := 100 * share; {
	case p > 0 && p < 0.01:
		return "<0.01%"
	default:
		return strconv.FormatFloat(p, 'g', 3, 64) + "%"
	}
}

// figures is a number with as many digits as it is worth.
func figures(x float64) string {
	switch {
	case x > 0 && x < 0.001:
		return "<0.001"
	case x >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 2, 64)
}

// short is a duration without zeros at its end: 1m, not 1m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
