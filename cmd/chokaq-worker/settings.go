package main

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/config"
	"github.com/chokaq/chokaq/driver"
)

func (a *app) settingsCommand() *cobra.Command {
	return group("settings", "Show and change the settings that the database owns", a.settingsListCommand(), a.settingsSetCommand())
}

func querySettings(ctx context.Context, client *driver.Client) ([]record, error) {
	return queryRecords(ctx, client.DB(), `SELECT s.Name, s.Value, s.Unit, s.DefaultValue, s.MinValue, s.MaxValue, s.Description, s.UpdatedAt, s.UpdatedBy
FROM chokaq.CurrentSettings AS s ORDER BY s.Name`)
}

func (a *app) settingsListCommand() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "Show the settings", Args: noArgs}
	c.RunE = a.withClient(func(ctx context.Context, client *driver.Client, _ []string) error {
		settings, err := querySettings(ctx, client)
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(emptyNotNull(settings))
		}
		var rows [][]string
		for _, s := range settings {
			rows = append(rows, []string{s.text("Name"), s.text("Value"), s.text("Unit"), s.text("DefaultValue"), s.text("MinValue") + " to " + s.text("MaxValue")})
		}
		return a.printTable(a.stdout, []string{"Name", "Value", "Unit", "Default", "Range"}, rows)
	})
	return c
}

func (a *app) settingsSetCommand() *cobra.Command {
	var why string
	c := &cobra.Command{
		Use: "set NAME VALUE|default", Short: "Change a setting", Args: exactArgs(2),
		Long:    "VALUE is a whole number in the setting's unit, or a Go duration for one that is a time. Workers read the timeouts when they start: when you\nlower one, lower their heartbeat interval first.",
		Example: "  chokaq-worker settings set Recovery.ProcessingZombieTimeout 5m --note 'handlers are short'",
	}
	c.Flags().StringVar(&why, "note", "", "why; kept in the operators' log")
	c.RunE = a.withClient(func(ctx context.Context, client *driver.Client, args []string) error {
		settings, err := querySettings(ctx, client)
		if err != nil {
			return err
		}
		unit, names := "", []string{}
		var before, byDefault int64
		for _, s := range settings {
			names = append(names, s.text("Name"))
			if s.text("Name") == args[0] {
				unit, before, byDefault = s.text("Unit"), s.number("Value"), s.number("DefaultValue")
			}
		}
		if unit == "" {
			return usageError{fmt.Errorf("there is no setting %q%s; the settings are %s; nothing was changed", args[0], didYouMean(args[0], names), strings.Join(names, ", "))}
		}
		value, err := settingValue(args[1], unit)
		if err != nil {
			return err
		}
		if err := callProcedure(ctx, client, "chokaq.SetSetting", sql.Named("Name", args[0]), sql.Named("Value", value), sql.Named("Note", note(why))); err != nil {
			return err
		}
		now := byDefault
		if value.Valid {
			now = value.Int64
		}
		if heartbeatTimeouts[args[0]] && now < before {
			if err := a.warnRunningWorkers(ctx, client, args[0], now, ""); err != nil {
				return err
			}
		}
		if !value.Valid {
			return a.printDone(args[0] + " has its default again")
		}
		return a.printDone(fmt.Sprintf("%s is %d %s", args[0], value.Int64, unit))
	})
	return c
}

// heartbeatTimeouts are the settings that workers derive their heartbeat interval from when they start.
var heartbeatTimeouts = map[string]bool{"Recovery.ProcessingZombieTimeout": true, "Recovery.FetchedJobTimeout": true}

// warnRunningWorkers tells what a lower timeout means for workers that run; which narrows them down, with its values.
func (a *app) warnRunningWorkers(ctx context.Context, client *driver.Client, name string, seconds int64, which string, values ...any) error {
	running, err := queryRecords(ctx, client.DB(), "SELECT COUNT_BIG(*) AS Running FROM chokaq.WorkerStatus AS w WHERE w.State IN ('running', 'draining')"+which, values...)
	if err != nil || len(running) != 1 || running[0].number("Running") == 0 {
		return err
	}
	a.warn(fmt.Sprintf("%d running workers keep their heartbeat interval: from one that sends heartbeats less often than every %v, a third of %s now, jobs that still run are taken away; restart those workers now, "+
		"or set it back, lower CHOKAQ_HEARTBEAT_INTERVAL, restart them, and lower it then", running[0].number("Running"), time.Duration(seconds)*time.Second/3, name))
	return nil
}

// didYouMean suggests the name that differs in case, or a little.
func didYouMean(name string, names []string) string {
	for _, known := range names {
		if strings.EqualFold(name, known) {
			return "; did you mean " + known + "? Names are exact"
		}
	}
	if nearest := config.Nearest(name, names); nearest != "" {
		return "; did you mean " + nearest + "?"
	}
	return ""
}

// settingValue reads a number in the unit, or a duration.
func settingValue(text, unit string) (sql.NullInt64, error) {
	if text == "default" {
		return sql.NullInt64{}, nil
	}
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		return sql.NullInt64{Int64: n, Valid: true}, nil
	}
	one := map[string]time.Duration{"seconds": time.Second, "hours": time.Hour}[unit]
	if d, err := time.ParseDuration(text); err == nil && one > 0 && d >= 0 && d%one == 0 {
		return sql.NullInt64{Int64: int64(d / one), Valid: true}, nil
	}
	return sql.NullInt64{}, usageError{fmt.Errorf("%q is not accepted; accepted: a whole number of %s, a Go duration that is one (where the setting is a time), or default; nothing was changed", text, unit)}
}
