package db

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// What one of the servers that ChokaQ is written for does not have, or answers differently.
var unportable = []struct{ pattern, why string }{
	{`\bDB_ID\s*\(`, "in Azure SQL Database DB_ID is another number than database_id in sys.databases: compare name with DB_NAME()"},
	{`\b(GREATEST|LEAST|GENERATE_SERIES|DATETRUNC|DATE_BUCKET|JSON_OBJECT|JSON_ARRAY|JSON_PATH_EXISTS|JSON_ARRAYAGG|JSON_OBJECTAGG|APPROX_COUNT_DISTINCT|BIT_COUNT|REGEXP_\w+|UNISTR)\s*\(`, "SQL Server 2017 does not have it"},
	{`\bIS\s+(NOT\s+)?DISTINCT\s+FROM\b`, "SQL Server 2017 does not have it"},
	{`\bISJSON\s*\([^()]*,`, "SQL Server 2017 has no second argument of ISJSON"},
	{`\bSTRING_SPLIT\s*\([^()]*,[^()]*,`, "SQL Server 2017 has no third argument of STRING_SPLIT"},
	{`\bCOLLATE\s+\w+\s+'(lax |strict )?\$`, "the documented grammar of OPENJSON's WITH has no COLLATE"},
	{`\|\|`, "SQL Server 2022 and earlier have no such operator"},
}

// Lines that clients take for commands of their own, in comments too: tsql of FreeTDS, sqlcmd, osql.
var clientCommands = regexp.MustCompile(`(?im)^[ \t]*(version|exit|quit|bye|reset|locale|go|ed|:\w+|!!)\b[^\n]*`)

var hintsWithReadPast = regexp.MustCompile(`(?s)\bREADPAST\b(?:[^()]|\([^()]*\))*\)`)

var comments = regexp.MustCompile(`(?s)/\*.*?\*/|--[^\n]*`)

func TestTheSQLIsPortable(t *testing.T) {
	for _, files := range []fs.FS{Migrations, Objects, AgentJobs} {
		err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := fs.ReadFile(files, name)
			if err != nil {
				return err
			}
			for _, found := range clientCommands.FindAllString(string(text), -1) {
				t.Errorf("%s: a client takes this line for a command: %s", name, found)
			}
			code := comments.ReplaceAllString(string(text), " ")
			for _, u := range unportable {
				for _, found := range regexp.MustCompile(u.pattern).FindAllString(code, -1) {
					t.Errorf("%s: %s: %s", name, found, u.why)
				}
			}
			for _, hints := range hintsWithReadPast.FindAllString(code, -1) {
				if !strings.Contains(hints, "READCOMMITTEDLOCK") {
					t.Errorf("%s: %s without READCOMMITTEDLOCK skips nothing under READ_COMMITTED_SNAPSHOT", name, hints)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
