package engine

import "github.com/chokaq/chokaq/internal/sqlsim/tsql"

// systemProc finds a system procedure that is written here.
func (p *planner) systemProc(fr *frame, name tsql.ObjectName) systemProc {
	if name.Schema != "" && foldName(name.Schema) != "sys" && foldName(name.Schema) != "dbo" {
		return nil
	}
	return systemProcs[foldName(name.Name)]
}

// systemProcs are the procedures by folded name.
var systemProcs = map[string]systemProc{}
