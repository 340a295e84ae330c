package doctor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/microsoft/go-mssqldb/msdsn"

	"github.com/chokaq/chokaq/driver"
)

// connection: can the server be reached, and who listens on the way?
func connection(ctx context.Context, p *Patient) ([]Finding, error) {
	began := time.Now()
	if err := p.DB.PingContext(ctx); err != nil {
		return nil, err
	}
	took := time.Since(began)
	parsed, err := msdsn.Parse(p.DSN)
	if err != nil {
		return nil, errors.New("the data source name cannot be parsed")
	}
	found := fmt.Sprintf("%s answers in %v", parsed.Host, took.Round(time.Millisecond))
	switch {
	case parsed.Encryption == msdsn.EncryptionDisabled || parsed.Encryption == msdsn.EncryptionOff:
		if loopback(parsed.Host) {
			return one(Note, found+"; not encrypted, on this machine", ""), nil
		}
		return one(Warning, found+"; payloads and results travel unencrypted", "add encrypt=true (or encrypt=strict, SQL Server 2022) to CHOKAQ_DSN"), nil
	case parsed.TLSConfig != nil && parsed.TLSConfig.InsecureSkipVerify:
		return one(Warning, found+"; encrypted, but the server's certificate is not verified", "remove TrustServerCertificate=true and name the certificate's authority with certificate=..."), nil
	}
	return one(OK, found+"; encrypted, certificate verified", ""), nil
}

func loopback(host string) bool {
	return host == "localhost" || strings.HasPrefix(host, "127.") || host == "::1" || host == "."
}

// server: is it a version that the T-SQL is written for?
func server(ctx context.Context, p *Patient) ([]Finding, error) {
	var version, edition string
	var engine int
	if err := p.DB.QueryRowContext(ctx, `SELECT CONVERT(nvarchar(128), SERVERPROPERTY('ProductVersion')), CONVERT(nvarchar(128), SERVERPROPERTY('Edition')), CONVERT(int, SERVERPROPERTY('EngineEdition'))`).Scan(&version, &edition, &engine); err != nil {
		return nil, err
	}
	found := fmt.Sprintf("SQL Server %s, %s", version, edition)
	major, _ := strconv.Atoi(strings.SplitN(version, ".", 2)[0])
	switch {
	case engine == 5 || engine == 8: // Azure SQL Database, Managed Instance: their version says nothing
		return one(OK, found, ""), nil
	case major < 14:
		return one(Error, found+": older than SQL Server 2017", "ChokaQ needs SQL Server 2017 or later: upgrade the server"), nil
	case major > 17:
		return one(Note, found+": newer than SQL Server 2025, which is the latest that ChokaQ was written for", ""), nil
	}
	return one(OK, found, ""), nil
}

// unknownProcedure is SQL Server's error for a procedure that is not there.
const unknownProcedure = 2812

// schema: is ChokaQ installed, and the version that this program needs?
func schema(ctx context.Context, p *Patient) ([]Finding, error) {
	err := p.Check(ctx)
	switch {
	case errors.Is(err, driver.ErrSchema) && sqlNumber(err) == unknownProcedure:
		return one(Error, "ChokaQ is not installed in this database", "name another database in CHOKAQ_DSN, or run chokaq-worker migrate up (as db_owner); nothing else was looked at"), errNoQueue
	case errors.Is(err, driver.ErrSchema):
		return one(Error, err.Error(), "chokaq-worker migrate status says what is missing; migrate up (as db_owner) brings it"), nil
	case err != nil:
		return nil, err
	}
	type versions struct{ schema, oldest int64 }
	all, err := rows(ctx, p.DB, "EXEC chokaq.GetInstallation", func(r *sql.Rows) (versions, error) {
		var v versions
		var dirty bool
		err := scanFirst(r, &v.schema, &dirty, &v.oldest)
		return v, err
	})
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("chokaq.GetInstallation answered %d rows, and not one", len(all))
	}
	version, oldest := all[0].schema, all[0].oldest
	found := fmt.Sprintf("schema version %d; this program is built for %d", version, driver.SchemaVersion)
	if version > driver.SchemaVersion {
		return one(Note, found+": newer, and it serves programs from version "+fmt.Sprint(oldest)+" on", "upgrade this program when you can"), nil
	}
	// Who may not read the record of what was applied learns it from a worker that cannot register.
	if pending, err := p.Pending(ctx); err == nil && len(pending) > 0 {
		return one(Error, fmt.Sprintf("%s, but %d of the procedures and views are not its own (%s): an upgrade was not finished, another program of that version did it, or somebody has dropped them", found, len(pending), names(pending)),
			"chokaq-worker migrate up (as db_owner) brings them"), nil
	}
	return one(OK, found, ""), nil
}

// rights: what may this login do, and is it more than a worker needs?
func rights(ctx context.Context, p *Patient) ([]Finding, error) {
	var roles []string
	var owner, admin bool
	for _, role := range []string{"chokaq_producer", "chokaq_worker", "chokaq_operator", "chokaq_monitor"} {
		var is sql.NullBool
		if err := p.DB.QueryRowContext(ctx, "SELECT CONVERT(bit, IS_ROLEMEMBER(@Role))", sql.Named("Role", role)).Scan(&is); err != nil {
			return nil, err
		}
		if is.Bool {
			roles = append(roles, role)
		}
	}
	if err := p.DB.QueryRowContext(ctx, "SELECT CONVERT(bit, COALESCE(IS_ROLEMEMBER('db_owner'), 0)), CONVERT(bit, COALESCE(IS_SRVROLEMEMBER('sysadmin'), 0))").Scan(&owner, &admin); err != nil {
		return nil, err
	}
	switch {
	case admin:
		return one(Note, "this login is sysadmin", "workers need chokaq_worker and no more: give them a login of their own"), nil
	case owner:
		return one(Note, "this login is db_owner", "workers need chokaq_worker and no more: give them a login of their own"), nil
	case len(roles) == 0:
		return one(Error, "this login's user is a member of none of ChokaQ's roles", "ALTER ROLE chokaq_worker ADD MEMBER [user] (chokaq_producer to enqueue, chokaq_operator to decide, chokaq_monitor to look)"), nil
	}
	return one(OK, "this login's user is a member of "+strings.Join(roles, ", "), ""), nil
}

// database: options that a queue feels.
func database(ctx context.Context, p *Patient) ([]Finding, error) {
	var name, collation, recovery, state, access string
	var level int
	var rcsi, autoClose, readOnly, autoShrink bool
	if err := p.DB.QueryRowContext(ctx, `SELECT d.name, CONVERT(int, d.compatibility_level), COALESCE(d.collation_name, N''), d.is_read_committed_snapshot_on, d.is_auto_close_on, d.is_auto_shrink_on, d.is_read_only,
       d.recovery_model_desc, d.state_desc, d.user_access_desc
FROM sys.databases AS d WHERE d.name = DB_NAME()`).Scan(&name, &level, &collation, &rcsi, &autoClose, &autoShrink, &readOnly, &recovery, &state, &access); err != nil {
		return nil, err
	}
	var found []Finding
	if level < 130 {
		found = append(found, Finding{Severity: Error, Found: fmt.Sprintf("compatibility level %d: OPENJSON needs 130", level), Do: "ALTER DATABASE CURRENT SET COMPATIBILITY_LEVEL = 130, or higher"})
	}
	if readOnly || access == "SINGLE_USER" {
		found = append(found, Finding{Severity: Error, Found: fmt.Sprintf("the database is %s, %s", map[bool]string{true: "read-only", false: "writable"}[readOnly], access), Do: "point CHOKAQ_DSN at the primary; ALTER DATABASE ... SET READ_WRITE, MULTI_USER if that is what it should be"})
	}
	if autoClose {
		found = append(found, Finding{Severity: Warning, Found: "AUTO_CLOSE is on: the database is closed whenever nobody is connected", Do: "ALTER DATABASE CURRENT SET AUTO_CLOSE OFF"})
	}
	if autoShrink {
		found = append(found, Finding{Severity: Warning, Found: "AUTO_SHRINK is on: files shrink and grow again under the queue", Do: "ALTER DATABASE CURRENT SET AUTO_SHRINK OFF"})
	}
	if len(found) > 0 {
		return found, nil
	}
	snapshot := "off"
	if rcsi {
		snapshot = "on"
	}
	return one(OK, fmt.Sprintf("%s: compatibility level %d, READ_COMMITTED_SNAPSHOT %s, collation %s, recovery model %s", name, level, snapshot, collation, recovery), ""), nil
}

// clockDifference: nothing depends on it, but people who read two logs do.
func clockDifference(ctx context.Context, p *Patient) ([]Finding, error) {
	before := time.Now()
	var there time.Time
	if err := p.DB.QueryRowContext(ctx, "SELECT CONVERT(datetime2(3), SYSUTCDATETIME())").Scan(&there); err != nil {
		return nil, err
	}
	after := time.Now()
	here := before.Add(after.Sub(before) / 2)
	difference := there.Sub(here).Round(time.Millisecond)
	uncertainty := after.Sub(before)/2 + time.Millisecond
	if difference.Abs() > time.Second+uncertainty {
		way := "ahead of"
		if difference < 0 {
			way = "behind"
		}
		return one(Warning, fmt.Sprintf("the database's clock is %v %s this machine's", difference.Abs(), way), "due times, heartbeats and timeouts go by the database's clock alone, so jobs are not affected; logs will not line up: check time synchronization"), nil
	}
	return one(OK, fmt.Sprintf("the clocks differ by %v (within %v)", difference, uncertainty.Round(time.Millisecond)), ""), nil
}
