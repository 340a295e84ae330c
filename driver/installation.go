package driver

import (
	"context"
	"fmt"
)

// SchemaVersion is the schema version (the last migration) that this program is built for. An older database is refused. A newer
// one is accepted as long as it says that it serves clients of this version.
const SchemaVersion = 2

const (
	numberUnknownProcedure = 2812
	numberExecuteDenied    = 229
)

// checkInstallation asks the database what it is. The error is ErrSchema when this program must not use it.
func checkInstallation(ctx context.Context, p *procedures) (installation, error) {
	i, err := p.installation(ctx)
	switch sqlNumber(err) {
	case numberUnknownProcedure:
		return i, fmt.Errorf("%w: the database has no ChokaQ schema, or this login has no right on it. Run \"chokaq-worker migrate up\", or make the login's user a member of chokaq_worker: %w", ErrSchema, err)
	case numberExecuteDenied:
		return i, fmt.Errorf("%w: this login may not use ChokaQ. Make its user a member of chokaq_worker (or chokaq_producer): %w", ErrSchema, err)
	}
	if err != nil {
		return i, err
	}
	return i, i.fits()
}

// misfit is err as ErrSchema, if it says that the procedures are not those of the schema version: an upgrade was not finished.
func misfit(err error) error {
	switch sqlNumber(err) {
	case numberUnknownProcedure, 201, 8144, 8145: // no such procedure; a parameter that is missing, too many, or unknown
		return fmt.Errorf("%w: the procedures are not those of its schema version: an upgrade was not finished. Run \"chokaq-worker migrate up\": %w", ErrSchema, err)
	}
	return err
}

func (i installation) fits() error {
	switch {
	case i.IsDirty:
		return fmt.Errorf("%w: migration %d of database %q has failed half way. Look at its error, repair what it says, and run \"chokaq-worker migrate up\"", ErrSchema, i.SchemaVersion.Int64, i.DatabaseName)
	case i.SchemaVersion.Int64 < SchemaVersion:
		return fmt.Errorf("%w: database %q has schema version %d, and this program needs %d. Run \"chokaq-worker migrate up\"", ErrSchema, i.DatabaseName, i.SchemaVersion.Int64, SchemaVersion)
	case i.OldestClientSchemaVersion > SchemaVersion:
		return fmt.Errorf("%w: database %q has schema version %d, which serves programs built for version %d or later; this one is built for %d. Upgrade this program", ErrSchema, i.DatabaseName, i.SchemaVersion.Int64, i.OldestClientSchemaVersion, SchemaVersion)
	case i.CompatibilityLevel < 130:
		return fmt.Errorf("%w: database %q has compatibility level %d, and ChokaQ needs 130 or higher. Run ALTER DATABASE CURRENT SET COMPATIBILITY_LEVEL = 130 (or higher)", ErrSchema, i.DatabaseName, i.CompatibilityLevel)
	case i.AnsiOptionsWrong > 0:
		return fmt.Errorf("%w: %d procedures of database %q were created with QUOTED_IDENTIFIER or ANSI_NULLS off, and would fail with error 1934. Run \"chokaq-worker migrate up\", or the script of \"chokaq-worker migrate script\" with sqlcmd -I", ErrSchema, i.AnsiOptionsWrong, i.DatabaseName)
	}
	return nil
}
