package main

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

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
	c := &cobra.Command{Use: "list", Short: "Show the settings", Args: cobra.NoArgs}
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
		Use: "set NAME VALUE|default", Short: "Change a setting", Args: cobra.ExactArgs(2),
		Long:    "VALUE is a whole number in the setting's unit, or a Go duration for one that is a time. Workers read the timeouts when they start: when you\nlower one, lower their heartbeat interval first.",
		Example: "  chokaq-worker settings set Recovery.ProcessingZombieTimeout 5m --note 'handlers are short'",
	}
	c.Flags().StringVar(&why, "note", "", "why; kept in the operators' log")
	c.RunE = a.withClient(func(ctx context.Context, client *driver.Client, args []string) error {
		settings, err := querySettings(ctx, client)
		if err != nil {
			return err
		}
		unit := ""
		for _, s := range settings {
			if s.text("Name") == args[0] {
				unit = s.text("Unit")
			}
		}
		value, err := settingValue(args[1], unit)
		if err != nil {
			return err
		}
		if err := callProcedure(ctx, client, "chokaq.SetSetting", sql.Named("Name", args[0]), sql.Named("Value", value), sql.Named("Note", note(why))); err != nil {
			return err
		}
		if !value.Valid {
			return a.printDone(args[0] + " has its default again")
		}
		return a.printDone(fmt.Sprintf("%s is %d %s", args[0], value.Int64, unit))
	})
	return c
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
