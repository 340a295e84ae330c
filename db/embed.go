// Package db holds ChokaQ's T-SQL as it is shipped: migrations, repeatable objects
// (functions, procedures, views, grants) and SQL Server Agent scripts.
package db

import "embed"

// Migrations holds migrations/NNNNNN_name.{up,down}.sql, as golang-migrate reads them.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// Objects holds the repeatable objects, one a file and one batch a file.
//
//go:embed functions/*.sql procedures/*.sql views/*.sql grants/*.sql
var Objects embed.FS

// AgentJobs holds the scripts for SQL Server Agent, to be run in the queue's database.
//
//go:embed agent-jobs/*.sql
var AgentJobs embed.FS
