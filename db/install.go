package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	"github.com/golang-migrate/migrate/v4/database/sqlserver"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	mssql "github.com/microsoft/go-mssqldb"
)

// versionTable is golang-migrate's own record, in schema chokaq.
const versionTable = "SchemaVersion"

// ErrNewer: the database has a schema version that this program does not know. Nothing was changed.
var ErrNewer = errors.New("chokaq: the database has a newer schema than this program")

// Change is one thing that Up or Down did, for the person who watches.
type Change struct {
	Name   string // file name, such as "procedures/ClaimJobs.sql"
	Action string // "migrated", "applied", "dropped", "repaired"
}

// Installer installs and upgrades the schema of the database that a data source name of go-mssqldb names. It needs a
// login that may create schemas, tables, procedures and roles there, such as a member of db_owner.
type Installer struct {
	// DSN is the data source name.
	DSN string
	// Progress is told each change when it has been committed; nil: nobody is told.
	Progress func(Change)
}

func (i Installer) tell(name, action string) {
	if i.Progress != nil {
		i.Progress(Change{name, action})
	}
}

// Up runs the migrations that are missing, then applies every repeatable object whose text has changed and drops those that are no
// longer there. It may be run again at any time, also while workers run, and by several at once: they take
// turns. A migration happens whole or not at all; one that a crash left in doubt is settled first.
func (i Installer) Up(ctx context.Context) error {
	pool, err := i.open(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	return exclusively(ctx, pool, func(conn *sql.Conn) error { return i.up(ctx, pool, conn) })
}

func (i Installer) up(ctx context.Context, pool *sql.DB, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, createSchema); err != nil {
		return fmt.Errorf("chokaq: creating schema chokaq: %w", err)
	}
	m, err := i.migrator()
	if err != nil {
		return err
	}
	defer m.Close()
	if err := i.settleDirty(ctx, pool, m); err != nil {
		return err
	}
	version, _, err := m.Version()
	if err != nil && !errors.Is(err, migrate.ErrNilVersion) {
		return err
	}
	if latest := LatestVersion(); version > latest {
		return fmt.Errorf("%w: it has version %d, and this program knows up to %d. Use the program of that version or a later one; nothing was changed", ErrNewer, version, latest)
	}
	for _, migration := range migrations()[version:] {
		if err := m.Steps(1); err != nil {
			return errors.Join(migrationError(migration, err), i.settleDirty(ctx, pool, m))
		}
		i.tell(migration, "migrated")
	}
	return i.applyObjects(ctx, conn)
}

// Down removes the whole schema with every job in it, whatever state it is in.
func (i Installer) Down(ctx context.Context) error {
	pool, err := i.open(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	return exclusively(ctx, pool, func(*sql.Conn) error { return i.down(ctx, pool) })
}

func (i Installer) down(ctx context.Context, pool *sql.DB) error {
	if installed, err := hasObject(ctx, pool, versionTable); err != nil || !installed {
		return err
	}
	m, err := i.migrator()
	if err != nil {
		return err
	}
	defer m.Close()
	if err := i.settleDirty(ctx, pool, m); err != nil {
		return err
	}
	if err := m.Down(); err != nil && !errors.Is(err, migrate.ErrNoChange) {
		return migrationError("down", err)
	}
	i.tell("schema chokaq", "dropped")
	return nil
}

// open connects, so that a wrong name or password is reported as that and not by the first statement.
func (i Installer) open(ctx context.Context) (*sql.DB, error) {
	connector, err := mssql.NewConnector(i.DSN)
	if err != nil {
		return nil, fmt.Errorf("chokaq: the data source name cannot be parsed: %w", err)
	}
	pool := sql.OpenDB(connector)
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("chokaq: cannot connect: %w", err), pool.Close())
	}
	return pool, nil
}

// exclusively runs an installation while a session lock keeps every other one of this database waiting.
func exclusively(ctx context.Context, pool *sql.DB, run func(*sql.Conn) error) (err error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, `DECLARE @Granted int;
EXEC @Granted = sys.sp_getapplock @Resource = N'chokaq:install', @LockMode = 'Exclusive', @LockOwner = 'Session', @LockTimeout = -1;
IF @Granted < 0 THROW 51014, N'chokaq: the lock that keeps two installers apart was not granted. Run it again.', 1;`); err != nil {
		return fmt.Errorf("chokaq: taking the install lock: %w", err)
	}
	defer func() {
		_, unlock := conn.ExecContext(context.WithoutCancel(ctx), `EXEC sys.sp_releaseapplock @Resource = N'chokaq:install', @LockOwner = 'Session';`)
		err = errors.Join(err, unlock)
	}()
	return run(conn)
}

// createSchema is dynamic because CREATE SCHEMA must be alone in its batch.
const createSchema = `IF SCHEMA_ID(N'chokaq') IS NULL EXEC (N'CREATE SCHEMA chokaq AUTHORIZATION dbo;');`

// migrator makes golang-migrate over a pool of its own, which it closes.
func (i Installer) migrator() (*migrate.Migrate, error) {
	connector, err := mssql.NewConnector(i.DSN)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector)
	target, err := sqlserver.WithInstance(pool, &sqlserver.Config{MigrationsTable: versionTable, SchemaName: "chokaq"})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("chokaq: preparing the version table: %w", original(err)), pool.Close())
	}
	source, err := iofs.New(Migrations, "migrations")
	if err != nil {
		return nil, errors.Join(err, target.Close())
	}
	return migrate.NewWithInstance("embedded", source, "sqlserver", target)
}

// settleDirty clears the mark that golang-migrate leaves when a migration failed or its process died. Each of ours is one
// transaction and records itself in SchemaObjects, so it can be known whether it happened.
func (i Installer) settleDirty(ctx context.Context, pool *sql.DB, m *migrate.Migrate) error {
	version, dirty, err := m.Version()
	if err != nil || !dirty {
		return nil // no version at all is not dirty
	}
	all := migrations()
	if version < 1 || int(version) > len(all) {
		return fmt.Errorf("%w: migration %d, which this program does not know, has failed half way; nothing was changed", ErrNewer, version)
	}
	happened, err := hasObject(ctx, pool, "SchemaObjects")
	if err != nil {
		return err
	}
	if happened {
		err := pool.QueryRowContext(ctx, `SELECT CASE WHEN EXISTS (SELECT 1 FROM chokaq.SchemaObjects WHERE ObjectName = @Name) THEN 1 ELSE 0 END`,
			sql.Named("Name", "migrations/"+all[version-1])).Scan(&happened)
		if err != nil {
			return fmt.Errorf("chokaq: asking whether migration %s has happened: %w", all[version-1], err)
		}
	}
	settled := int(version)
	if !happened {
		if settled--; settled == 0 {
			settled = -1 // golang-migrate's "no version"
		}
	}
	if err := m.Force(settled); err != nil {
		return err
	}
	i.tell("migrations/"+all[version-1], "repaired")
	return nil
}

// migrations lists the file names of the up migrations in order; number n is element n-1.
func migrations() []string {
	names, err := fs.Glob(Migrations, "migrations/*.up.sql")
	if err != nil || len(names) == 0 {
		panic("chokaq: no embedded migrations")
	}
	for i, name := range names {
		names[i] = strings.TrimPrefix(name, "migrations/")
		if !strings.HasPrefix(names[i], fmt.Sprintf("%06d_", i+1)) {
			panic("chokaq: migrations are not numbered 1, 2, 3, ...: " + name)
		}
	}
	return names
}

// LatestVersion is the schema version that this program installs.
func LatestVersion() uint { return uint(len(migrations())) }

// migrationError says which migration failed and that it left nothing behind.
// original is the database's error in that of golang-migrate, which repeats the whole statement and does not unwrap.
func original(err error) error {
	if e, ok := errors.AsType[database.Error](err); ok {
		return e.OrigErr
	} else if e, ok := errors.AsType[*database.Error](err); ok {
		return e.OrigErr
	}
	return err
}

func migrationError(name string, err error) error {
	err = original(err)
	if e, ok := errors.AsType[mssql.Error](err); ok {
		return fmt.Errorf("chokaq: migration %s failed and was rolled back whole: error %d in line %d: %w", name, e.Number, e.LineNo, err)
	}
	return fmt.Errorf("chokaq: migration %s failed and was rolled back whole: %w", name, err)
}

func hasObject(ctx context.Context, pool *sql.DB, name string) (bool, error) {
	var there bool
	err := pool.QueryRowContext(ctx, `SELECT CASE WHEN OBJECT_ID(@Name) IS NULL THEN 0 ELSE 1 END`, sql.Named("Name", "chokaq."+name)).Scan(&there)
	if err != nil {
		return false, fmt.Errorf("chokaq: looking for chokaq.%s: %w", name, err)
	}
	return there, nil
}
