package db

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// object is a repeatable file: applied again whenever its text has changed.
type object struct {
	name     string // "procedures/ClaimJobs.sql"
	text     string
	checksum string
}

// objectFolders in the order in which they are applied: a view may use a function, and a procedure both. Names that do not exist yet are resolved late, but
// not new columns of a view that an earlier version has left (error 207). Grants name everything.
var objectFolders = []string{"functions", "views", "procedures", "grants"}

func objects() []object {
	var all []object
	for _, folder := range objectFolders {
		names, err := fs.Glob(Objects, folder+"/*.sql")
		if err != nil {
			panic(err)
		}
		for _, name := range names {
			text, err := fs.ReadFile(Objects, name)
			if err != nil {
				panic(err)
			}
			sum := sha256.Sum256(text)
			all = append(all, object{name, string(text), hex.EncodeToString(sum[:])})
		}
	}
	return all
}

// applyObjects brings the repeatable objects up to date. Each object and its record are one transaction.
func (i Installer) applyObjects(ctx context.Context, conn *sql.Conn) error {
	applied, err := appliedChecksums(ctx, conn)
	if err != nil {
		return err
	}
	changed := false
	for _, o := range objects() {
		// A new procedure has no grants yet, and one that was dropped and made again has lost them.
		due := applied[o.name] != o.checksum || changed && strings.HasPrefix(o.name, "grants/")
		delete(applied, o.name)
		if !due {
			continue
		}
		if err := record(ctx, conn, o.name, o.text, o.checksum); err != nil {
			return err
		}
		changed = true
		i.tell(o.name, "applied")
	}
	for _, name := range slices.Sorted(maps.Keys(applied)) {
		drop := dropStatement(name)
		if drop == "" {
			continue // a migration's mark
		}
		if err := record(ctx, conn, name, drop, ""); err != nil {
			return err
		}
		i.tell(name, "dropped")
	}
	return nil
}

// appliedChecksums reads what was applied. The checksum of an object that is not as it was applied is "": one that somebody has dropped, or has created again with
// QUOTED_IDENTIFIER or ANSI_NULLS OFF. So Up and Status look at the database itself, and not at their record of it alone.
func appliedChecksums(ctx context.Context, conn *sql.Conn) (_ map[string]string, err error) {
	rows, err := conn.QueryContext(ctx, appliedQuery)
	if err != nil {
		return nil, fmt.Errorf("chokaq: reading chokaq.SchemaObjects: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	applied := make(map[string]string)
	for rows.Next() {
		var name, checksum string
		if err := rows.Scan(&name, &checksum); err != nil {
			return nil, err
		}
		applied[name] = strings.TrimRight(checksum, " ")
	}
	return applied, rows.Err()
}

// Migrations and grants are no objects: there is nothing to look for.
const appliedQuery = `SELECT a.ObjectName,
       CASE WHEN a.IsObject = 0 THEN a.Checksum
            WHEN a.ObjectId IS NULL THEN ''
            WHEN OBJECTPROPERTY(a.ObjectId, 'ExecIsQuotedIdentOn') = 0 OR OBJECTPROPERTY(a.ObjectId, 'ExecIsAnsiNullsOn') = 0 THEN ''
            ELSE a.Checksum END AS Checksum
FROM (SELECT o.ObjectName, o.Checksum,
             CASE WHEN o.ObjectName LIKE N'functions/%' OR o.ObjectName LIKE N'views/%' OR o.ObjectName LIKE N'procedures/%' THEN 1 ELSE 0 END AS IsObject,
             OBJECT_ID(N'chokaq.' + QUOTENAME(REPLACE(SUBSTRING(o.ObjectName, CHARINDEX(N'/', o.ObjectName) + 1, 128), N'.sql', N''))) AS ObjectId
      FROM chokaq.SchemaObjects AS o) AS a;`

// dropStatement removes the object that a file of an earlier version made; "" when it made none.
func dropStatement(name string) string {
	object := "chokaq." + quoteName(strings.TrimSuffix(path.Base(name), ".sql"))
	switch path.Dir(name) {
	case "procedures":
		return "DROP PROCEDURE IF EXISTS " + object + ";"
	case "functions":
		return "DROP FUNCTION IF EXISTS " + object + ";"
	case "views":
		return "DROP VIEW IF EXISTS " + object + ";"
	}
	return ""
}

func quoteName(name string) string { return "[" + strings.ReplaceAll(name, "]", "]]") + "]" }

// record runs an object's text and notes its checksum (empty: it is gone), both or neither.
func record(ctx context.Context, conn *sql.Conn, name, text, checksum string) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, text)
	if err == nil {
		_, err = tx.ExecContext(ctx, recordStatement, sql.Named("Name", name), sql.Named("Checksum", checksum))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("chokaq: applying %s: %w; what was applied before it stays, and running this again goes on from there", name, err), ignoreDone(tx.Rollback()))
	}
	return tx.Commit()
}

const recordStatement = `DELETE FROM chokaq.SchemaObjects WHERE ObjectName = @Name;
IF @Checksum <> N'' INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (@Name, @Checksum, SYSUTCDATETIME(), ORIGINAL_LOGIN());`

// ignoreDone drops the complaint that SQL Server has rolled back already.
func ignoreDone(err error) error {
	if err == nil || errors.Is(err, sql.ErrTxDone) || strings.Contains(err.Error(), "no corresponding BEGIN TRANSACTION") {
		return nil
	}
	return err
}
