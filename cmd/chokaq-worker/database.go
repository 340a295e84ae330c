package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/config"
	"github.com/chokaq/chokaq/driver"
)

// connection reads the settings of a command that needs only a database.
func (a *app) connection(c *cobra.Command) (config.Connection, error) {
	var settings config.Connection
	faults := config.Load(a.environ, c.Flags(), &settings)
	if err := settings.CheckDSN(); err != nil {
		faults = append(faults, err)
	}
	return settings, config.Faults(faults)
}

// connect opens the database of a command that does not wait for one, and makes sure that it has a schema that fits.
func (a *app) connect(c *cobra.Command, settings config.Connection) (*driver.Client, error) {
	client, err := driver.Open(settings.WithTimeout(a.silenceOf(c)))
	if err != nil {
		return nil, err
	}
	ctx, cancel := bounded(c.Context(), a.reachWithin(c))
	defer cancel()
	if err := client.Check(ctx); err != nil {
		return nil, errors.Join(explain(settings, err), client.Close())
	}
	return client, nil
}

// withClient runs a command on a connected client.
func (a *app) withClient(run func(ctx context.Context, client *driver.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) (err error) {
		settings, err := a.connection(c)
		if err != nil {
			return err
		}
		client, err := a.connect(c, settings)
		if err != nil {
			return interrupted(c.Context(), err)
		}
		defer func() { err = errors.Join(err, client.Close()) }()
		return interrupted(c.Context(), explain(settings, hint(run(c.Context(), client, args))))
	}
}

// interrupted says that it was a signal that ended a command.
func interrupted(ctx context.Context, err error) error {
	if s, ok := errors.AsType[errSignal](context.Cause(ctx)); ok && err != nil && !errors.Is(err, errInterrupted) {
		if errors.Is(err, context.Canceled) || driver.IsTransient(err) { // what the call that was cut off says of it adds nothing
			return fmt.Errorf("%w (%v)", errInterrupted, s)
		}
		return fmt.Errorf("%w (%v): %w", errInterrupted, s, err)
	}
	return err
}

// explain says which database it was, and what to look at.
func explain(settings config.Connection, err error) error {
	if err == nil || errors.Is(err, driver.ErrSchema) || errors.Is(err, driver.ErrConfig) || errors.Is(err, errInterrupted) || errors.As(err, new(*fs.PathError)) {
		return err
	}
	if e, ok := errors.AsType[mssql.Error](err); ok {
		number := e.Number
		if slices.ContainsFunc(e.All, func(one mssql.Error) bool { return one.Number == 4060 }) { // 18456 comes after it
			number = 4060
		}
		switch number {
		case 18456, 18452, 18486, 18487, 18488:
			return fmt.Errorf("%s refused the login; check user and password in CHOKAQ_DSN (every special character of the password percent-encoded): %w", settings.Target(), err)
		case 4060, 911, 916:
			return fmt.Errorf("%s cannot be opened: it does not exist, is not online, or the login has no user in it: %w", settings.Target(), err)
		}
		return err
	}
	if said := err.Error(); driver.IsTransient(err) && timedOut(err) || strings.Contains(said, "TLS Handshake failed") && strings.Contains(said, "i/o timeout") { // which is not wrapped
		return databaseError{fmt.Errorf("%s cannot be reached; check host and port in CHOKAQ_DSN, and that the server is up (it said nothing for as long as --timeout allows; a call that waits for a lock may be meant): %w", settings.Target(), err)}
	}
	if strings.Contains(err.Error(), "TLS Handshake failed") {
		return databaseError{fmt.Errorf("%s cannot be reached: no encrypted connection can be made; check encrypt, TrustServerCertificate and certificate in CHOKAQ_DSN: %w", settings.Target(), err)}
	}
	if speaksNoTDS(err) {
		return databaseError{fmt.Errorf("%s cannot be reached; check host and port in CHOKAQ_DSN: what answers there is no SQL Server: %w", settings.Target(), err)}
	}
	if driver.IsTransient(err) {
		return fmt.Errorf("%s cannot be reached; check host and port in CHOKAQ_DSN, and that the server is up: %w", settings.Target(), err)
	}
	return err
}

// timedOut reports whether err is that time went by, and nothing else.
func timedOut(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout()
}

// databaseError is an error whose kind only its text tells.
type databaseError struct{ error }

func (e databaseError) Unwrap() error { return e.error }
func (databaseError) exitStatus() int { return statusDatabase }

// speaksNoTDS reports whether err is what go-mssqldb says of a peer with another protocol.
func speaksNoTDS(err error) bool {
	text := err.Error()
	for _, sign := range []string{"invalid packet size, it is", "PRELOGIN packet", "prelogin", "unexpected packet"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}

// hint says what to do about a refused right.
func hint(err error) error {
	if e, ok := errors.AsType[mssql.Error](err); ok && (e.Number == 229 || e.Number == 230) {
		return fmt.Errorf("this login may not do that; make its user a member of chokaq_operator (to change), chokaq_monitor (to look) or chokaq_producer (to enqueue): %w", err)
	}
	return err
}

// note is a --note, which becomes NULL when it is empty.
func note(text string) sql.NullString { return sql.NullString{String: text, Valid: text != ""} }
