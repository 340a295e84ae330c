package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/driver"
)

func (a *app) deadGroupsCommand() *cobra.Command {
	limit := 20
	c := &cobra.Command{
		Use: "groups", Short: "Show what died and why, with the filter that finds each group", Args: noArgs,
		Long: "One group is a queue, type, reason and beginning of the error, digits shown as 0. The largest come first. Below each stands the command that lists its " +
			"jobs; put requeue or discard in the place of list. The filter can find other jobs too, whose error has the same piece: the preview shows them.",
	}
	c.Flags().IntVar(&limit, "limit", limit, "at most so many groups; 0: all")
	c.RunE = func(c *cobra.Command, args []string) error {
		filter := deadFilter{limit: limit}
		if err := filter.check(); err != nil {
			return err
		}
		return a.withClient(func(ctx context.Context, client *driver.Client, _ []string) error {
			groups, err := queryRecords(ctx, client.DB(), "SELECT "+filter.top()+`g.Queue, g.JobType, g.Reason, g.ErrorStart, g.DeadJobs, g.FirstDeadAt, g.LastDeadAt, g.ExampleJobId
FROM chokaq.DeadJobGroups AS g ORDER BY g.DeadJobs DESC, g.LastDeadAt DESC, g.ExampleJobId`)
			if err != nil {
				return err
			}
			for i, g := range groups {
				var words []string
				for _, f := range groupFilter(g) {
					words = append(words, f.String())
				}
				groups[i] = g.with("Filter", strings.Join(words, " "))
			}
			return a.printRecords(groups, "no job is dead", a.printGroups)
		})(c, args)
	}
	return c
}

func (a *app) printGroups(to io.Writer, groups []record) error {
	for i, g := range groups {
		if i > 0 {
			fmt.Fprintln(to)
		}
		row := []string{g.text("DeadJobs"), g.text("Queue"), g.text("JobType"), g.text("Reason"), g.text("LastDeadAt"), g.text("ExampleJobId")}
		if err := a.printTable(to, []string{"Jobs", "Queue", "Type", "Reason", "Last died (UTC)", "Example"}, [][]string{row}, "Queue", "Type", "Last died (UTC)"); err != nil {
			return err
		}
		if g.get("ErrorStart") != nil {
			for _, line := range wrap(printable(g.text("ErrorStart")), a.widthOf(to)-1) {
				fmt.Fprintln(to, " "+line)
			}
		}
		fmt.Fprintln(to, shellLines("chokaq-worker dlq list", groupFilter(g), a.widthOf(to)))
	}
	return nil
}

// groupFilter is the flags that find a group.
func groupFilter(g record) []flag {
	flags := []flag{{"queue", g.text("Queue")}, {"type", g.text("JobType")}, {"reason", g.text("Reason")}}
	if piece := verbatim(g.text("ErrorStart")); piece != "" {
		flags = append(flags, flag{"error", piece})
	}
	return flags
}

// verbatim is the longest piece of the beginning of an error that stands in each error of the group: where # is shown, each may have another digit (or #).
func verbatim(errorStart string) (longest string) {
	for _, piece := range strings.FieldsFunc(errorStart, func(r rune) bool { return r == '#' || unicode.IsControl(r) || r == '\uFFFD' }) {
		if piece = strings.TrimSpace(piece); len(piece) > len(longest) {
			longest = piece
		}
	}
	if len(longest) < 4 { // would find nearly everything
		return ""
	}
	return longest
}
