package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Status says how the database stands to this program. It only reads.
type Status struct {
	Database   string   `json:"database"`
	Installed  bool     `json:"installed"` // there is a version table
	Version    uint     `json:"version"`   // the last migration that ran; 0: none
	Dirty      bool     `json:"dirty"`     // it failed half way, or its process died; Up settles that
	Latest     uint     `json:"latest"`    // what this program installs
	Migrations []string `json:"pendingMigrations"`
	Objects    []string `json:"pendingObjects"` // repeatable objects whose text differs from what was applied
}

// Status reads the state of the schema.
func (i Installer) Status(ctx context.Context) (Status, error) {
	s := Status{Latest: LatestVersion()}
	pool, err := i.open(ctx)
	if err != nil {
		return s, err
	}
	defer pool.Close()
	if err := pool.QueryRowContext(ctx, `SELECT DB_NAME()`).Scan(&s.Database); err != nil {
		return s, err
	}
	if s.Installed, err = hasObject(ctx, pool, versionTable); err != nil {
		return s, err
	}
	if s.Installed {
		err := pool.QueryRowContext(ctx, `SELECT TOP (1) v.version, v.dirty FROM chokaq.SchemaVersion AS v ORDER BY v.version DESC`).Scan(&s.Version, &s.Dirty)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return s, fmt.Errorf("chokaq: reading chokaq.SchemaVersion: %w", err)
		}
	}
	all := migrations()
	if int(s.Version) <= len(all) {
		s.Migrations = all[s.Version:]
	}
	s.Objects, err = pendingObjects(ctx, pool)
	return s, err
}

func pendingObjects(ctx context.Context, pool *sql.DB) (_ []string, err error) {
	applied := make(map[string]string)
	there, err := hasObject(ctx, pool, "SchemaObjects")
	if err != nil {
		return nil, err
	}
	if there {
		conn, err := pool.Conn(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, conn.Close()) }()
		if applied, err = appliedChecksums(ctx, conn); err != nil {
			return nil, err
		}
	}
	var pending []string
	for _, o := range objects() {
		if applied[o.name] != o.checksum {
			pending = append(pending, o.name)
		}
	}
	return pending, nil
}
