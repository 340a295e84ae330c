package engine

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestEveryErrorIsInSysMessages reads the sources for the errors that they raise.
func TestEveryErrorIsInSysMessages(t *testing.T) {
	raised := map[int64]string{}
	for _, dir := range []string{".", "../value", "../storage"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) < 4 {
					return true
				}
				fn, _ := call.Fun.(*ast.Ident)
				number, ok := call.Args[0].(*ast.BasicLit)
				if fn == nil || fn.Name != "sqlError" && fn.Name != "NewError" || !ok || number.Kind != token.INT {
					return true
				}
				if i, err := strconv.ParseInt(number.Value, 10, 64); err == nil && i > 0 && i < 50000 {
					raised[i] = name
				}
				return true
			})
		}
	}
	if len(raised) < 300 {
		t.Fatalf("found only %d errors", len(raised))
	}
	for n, where := range raised {
		if _, ok := systemMessages[n]; !ok && n != 40510 {
			t.Errorf("%s raises %d, which sys.messages has not", where, n)
		}
	}
	srv := newTestServer(t)
	s := srv.connect("q")
	expect(t, s, `SELECT message_id, severity, text FROM sys.messages WHERE language_id = 1033 AND message_id IN (208, 1222, 2601) ORDER BY message_id`,
		`208, 16, 'Invalid object name ''%.*ls''.'`,
		`1222, 16, 'Lock request time out period exceeded.'`,
		`2601, 14, 'Cannot insert duplicate key row in object ''%.*ls'' with unique index ''%.*ls''. The duplicate key value is %.*ls.'`)
}
