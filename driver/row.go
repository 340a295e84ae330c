package driver

import "database/sql"

// row is a row of a result set. Procedures of a later schema version may answer more columns, at the end: Scan leaves out those that it is
// not asked for, so that programs of this version go on working.
type row struct {
	rows    *sql.Rows
	columns int
}

func (r row) Scan(dest ...any) error {
	for len(dest) < r.columns {
		dest = append(dest, new(any))
	}
	return r.rows.Scan(dest...)
}
