package integration

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/uuid"
	mssql "github.com/microsoft/go-mssqldb"

	"github.com/chokaq/chokaq/db"
	"github.com/chokaq/chokaq/driver"
)

// odd is text in UTF-16 code units, which need not be pairs: what nvarchar can hold, and Go's strings cannot.
type odd []uint16

func oddly(s string) odd { return utf16.Encode([]rune(s)) }

// oddTexts by what is odd about them.
var oddTexts = map[string]odd{
	"plain":                        oddly("mail"),
	"other case":                   oddly("MAIL"),
	"accents":                      oddly("máil"),
	"composed otherwise":           oddly("ma\u0301il"),
	"full width":                   oddly("ｍａｉｌ"),
	"quote":                        oddly("it's"),
	"two quotes":                   oddly("''"),
	"double quotes":                oddly(`a"b`),
	"full-width quote":             oddly("a＇; DROP TABLE chokaq.Jobs--"), // becomes a quote where nvarchar is made varchar
	"modifier apostrophe":          oddly("aʼ; DROP TABLE chokaq.Jobs--"),
	"comment":                      oddly("'--"),
	"block comment":                oddly("*/ DROP TABLE chokaq.Jobs /*"),
	"statement":                    oddly("'; DROP TABLE chokaq.Jobs; --"),
	"brackets":                     oddly("]]"),
	"bracketed":                    oddly("[a-z]"),
	"percent":                      oddly("%"),
	"underscore":                   oddly("____"),
	"not in a set":                 oddly("[^a]%"),
	"backslash":                    oddly(`\`),
	"JSON":                         oddly(`"}],"id":1,[{"`),
	"JSON path":                    oddly(`$.a[0]."b"`),
	"variable":                     oddly("@JobId"),
	"go-mssqldb":                   oddly("{call x} ? $1 :a"),
	"format verbs":                 oddly("%s%d%1!"),
	"NUL":                          oddly("a\x00b"),
	"NUL alone":                    oddly("\x00"),
	"escape":                       oddly("a\x1b[31mb"),
	"tab":                          oddly("a\tb"),
	"line end":                     oddly("a\r\nb"),
	"delete":                       oddly("a\x7fb"),
	"emoji":                        oddly("😀"),
	"emoji of several code points": oddly("👩‍👩‍👧"),
	"high surrogate":               {'a', 0xd83d},
	"low surrogate":                {0xde00, 'a'},
	"surrogates in the wrong order": {
		0xde00, 0xd83d,
	},
	"right to left":         oddly("a\u202eb\u200f"),
	"Hebrew":                oddly("שלום"),
	"zero width":            oddly("\u200b"),
	"byte order mark":       oddly("\ufeffa"),
	"not a character":       {0xffff, 0xfffe},
	"replacement character": oddly("\ufffd"),
	"space":                 oddly(" "),
	"leading space":         oddly(" a"),
	"trailing space":        oddly("a "),
	"trailing spaces":       oddly("a   "),
	"no-break space":        oddly("a\u00a0"),
	"ideographic space":     oddly("\u3000a\u3000"),
	"sharp s":               oddly("straße"),
	"dotless i":             oddly("ıİ"),
	"64":                    oddly(strings.Repeat("x", 64)),
	"65":                    oddly(strings.Repeat("x", 65)),
	"64 of emoji":           oddly(strings.Repeat("😀", 32)),
	"128":                   oddly(strings.Repeat("y", 128)),
	"129":                   oddly(strings.Repeat("y", 129)),
	"200":                   oddly(strings.Repeat("z", 200)),
	"201":                   oddly(strings.Repeat("z", 201)),
	"64 and spaces":         oddly(strings.Repeat("w", 64) + " "),
	"401 with spaces":       oddly(strings.Repeat("v", 64) + strings.Repeat(" ", 337)),
	"1000":                  oddly(strings.Repeat("ä", 1000)),
	"1001":                  oddly(strings.Repeat("ä", 1001)),
	"4000":                  oddly(strings.Repeat("𝄞", 2000)),
	"4001":                  oddly(strings.Repeat("𝄞", 2000) + "x"),
}

func (o odd) bytes() []byte {
	b := make([]byte, 0, 2*len(o))
	for _, u := range o {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

// json is the text as a JSON string, in ASCII.
func (o odd) json() string {
	var b strings.Builder
	b.WriteByte('"')
	for _, u := range o {
		if u < ' ' || u > '~' || u == '"' || u == '\\' {
			fmt.Fprintf(&b, `\u%04x`, u)
		} else {
			b.WriteByte(byte(u))
		}
	}
	return b.String() + `"`
}

// isName is the rule of names in the procedures' headers.
func (o odd) isName(most int) bool {
	return len(o) > 0 && len(o) <= most && o[0] != ' ' && o[len(o)-1] != ' ' && !slices.ContainsFunc(o, func(u uint16) bool { return u < ' ' || u == 0x7f })
}

// oddField is a place where text goes in.
type oddField struct {
	named     string                 // what a refusal calls it
	statement string                 // with @x, the text, or @j, the text as a JSON string
	stored    string                 // where it is then
	accepted  func(odd) bool         // what is stored; everything else is refused
	as        func(odd) (stored odd) // nil: exactly
}

func oddFields(d *database, worker uuid.UUID) []oddField {
	name := func(most int) func(odd) bool { return func(o odd) bool { return o.isName(most) } }
	long := func(most int) func(odd) bool { return func(o odd) bool { return len(o) <= most } }
	any := func(odd) bool { return true }
	never := func(odd) bool { return false }
	newest := func(column string) string {
		return "SELECT TOP (1) CONVERT(varbinary(max), " + column + ") AS v FROM chokaq.Jobs ORDER BY JobId DESC"
	}
	const note = "SELECT TOP (1) CONVERT(varbinary(max), Note) AS v FROM chokaq.OperatorActions ORDER BY ActionId DESC"
	job := "DECLARE @Id bigint; EXEC chokaq.EnqueueJob @Queue = N'odd', @JobType = N't', @JobId = @Id OUTPUT, @ReturnRow = 0; "
	deadJob := job + "EXEC chokaq.CancelJob @JobId = @Id; DECLARE @Ids nvarchar(max) = CONCAT(N'[', @Id, N']'); "
	running := job + fmt.Sprintf(`DECLARE @Token uniqueidentifier = NEWID(); EXEC chokaq.ClaimJobs @WorkerId = '%s', @ClaimToken = @Token, @Queues = N'["odd"]', @MaxJobs = 1000;
DECLARE @Claim nvarchar(max) = CONCAT(N'[{"id":', @Id, N',"token":"', @Token, N'"}]'); EXEC chokaq.StartJobs @Jobs = @Claim; `, worker)
	return []oddField{
		{"@Queue", "EXEC chokaq.EnqueueJob @Queue = @x, @JobType = N't'", newest("Queue"), name(64), nil},
		{"@JobType", "EXEC chokaq.EnqueueJob @Queue = N'types', @JobType = @x", newest("JobType"), name(128), nil},
		{"@IdempotencyKey", "EXEC chokaq.EnqueueJob @Queue = N'keys', @JobType = N'one', @IdempotencyKey = @x", newest("IdempotencyKey"), name(200), nil},
		{"@Payload", "EXEC chokaq.EnqueueJob @Queue = N'odd', @JobType = N't', @Payload = @j", newest("Payload"), any, func(o odd) odd { return oddly(o.json()) }},
		{"@Payload", "SET @x = CONCAT(N'x', @x); EXEC chokaq.EnqueueJob @Queue = N'odd', @JobType = N't', @Payload = @x", newest("Payload"), never, nil},
		{"@Headers", `SET @j = CONCAT(N'{"k":', @j, N'}'); EXEC chokaq.EnqueueJob @Queue = N'odd', @JobType = N't', @Headers = @j`, newest("Headers"),
			func(o odd) bool { return len(o.json())+6 <= 4000 }, func(o odd) odd { return oddly(`{"k":` + o.json() + `}`) }},
		{".queue", `SET @j = CONCAT(N'[{"queue":', @j, N',"type":"t"}]'); EXEC chokaq.EnqueueJobs @Jobs = @j`, newest("Queue"), name(64), nil},
		{".type", `SET @j = CONCAT(N'[{"queue":"types2","type":', @j, N'}]'); EXEC chokaq.EnqueueJobs @Jobs = @j`, newest("JobType"), name(128), nil},
		{".idempotencyKey", `SET @j = CONCAT(N'[{"queue":"keys2","type":"two","idempotencyKey":', @j, N'}]'); EXEC chokaq.EnqueueJobs @Jobs = @j`, newest("IdempotencyKey"), name(200), nil},
		{".payload", `SET @j = CONCAT(N'[{"queue":"odd","type":"t","payload":{"k":', @j, N'}}]'); EXEC chokaq.EnqueueJobs @Jobs = @j`, newest("Payload"), any,
			func(o odd) odd { return oddly(`{"k":` + o.json() + `}`) }},
		{"@HostName", "EXEC chokaq.RegisterWorker @WorkerId = '11111111-1111-1111-1111-111111111111', @HostName = @x, @ProcessId = 1, @Version = N'v', @Queues = N'[\"q\"]', @Handlers = 1, @Prefetch = 1",
			"SELECT CONVERT(varbinary(max), HostName) AS v FROM chokaq.Workers WHERE WorkerId = '11111111-1111-1111-1111-111111111111'", name(128), nil},
		{"@Version", "EXEC chokaq.RegisterWorker @WorkerId = '11111111-1111-1111-1111-111111111111', @HostName = N'version', @ProcessId = 1, @Version = @x, @Queues = N'[\"q\"]', @Handlers = 1, @Prefetch = 1",
			"SELECT CONVERT(varbinary(max), Version) AS v FROM chokaq.Workers WHERE WorkerId = '11111111-1111-1111-1111-111111111111'", name(64), nil},
		{"@Queue", "EXEC chokaq.PauseQueue @Queue = @x; EXEC chokaq.ResumeQueue @Queue = @x; EXEC chokaq.SetQueueLimit @Queue = @x, @ConcurrencyLimit = 5",
			"SELECT TOP (1) CONVERT(varbinary(max), Queue) AS v FROM chokaq.OperatorActions ORDER BY ActionId DESC", name(64), nil},
		{"@Note", job + "EXEC chokaq.CancelJob @JobId = @Id, @Note = @x", note, long(1000), nil},
		{"@Note", deadJob + "EXEC chokaq.DiscardDeadJobs @JobIds = @Ids, @Note = @x", note, func(o odd) bool { return len(o) <= 1000 && strings.Trim(string(utf16.Decode(o)), " ") != "" }, nil},
		{"@Note", deadJob + "EXEC chokaq.RequeueDeadJobs @JobIds = @Ids, @Note = @x", note, long(1000), nil},
		{"@Note", deadJob + "EXEC chokaq.EditDeadJob @JobId = @Id, @Priority = 7, @Note = @x", note, long(1000), nil},
		{"@Payload", deadJob + "EXEC chokaq.EditDeadJob @JobId = @Id, @Payload = @j", "SELECT TOP (1) CONVERT(varbinary(max), Payload) AS v FROM chokaq.JobsDLQ ORDER BY JobId DESC", any, func(o odd) odd { return oddly(o.json()) }},
		{"@Queue", deadJob + "EXEC chokaq.EditDeadJob @JobId = @Id, @Queue = @x", "SELECT TOP (1) CONVERT(varbinary(max), Queue) AS v FROM chokaq.JobsDLQ ORDER BY JobId DESC", name(64), nil},
		{"@Note", "EXEC chokaq.PauseQueue @Queue = N'paused', @Note = @x", note, long(1000), nil},
		{"@Note", "EXEC chokaq.SetSetting @Name = N'Recovery.BatchSize', @Value = 500, @Note = @x", note, long(1000), nil},
		{"there is no setting", "EXEC chokaq.SetSetting @Name = @x, @Value = 5", note, never, nil},
		{"@Reason", fmt.Sprintf("EXEC chokaq.SetWorkerState @WorkerId = '%s', @State = N'draining', @Reason = @x; EXEC chokaq.SetWorkerState @WorkerId = '%[1]s', @State = N'running'", worker), "", long(200), nil},
		{"reason", running + `SET @Claim = JSON_MODIFY(@Claim, '$[0].reason', @x); EXEC chokaq.FailJobs @Jobs = @Claim`, "", never, nil},
		{"retryAfterMs", running + `SET @Claim = JSON_MODIFY(@Claim, '$[0].retryAfterMs', @x); EXEC chokaq.FailJobs @Jobs = @Claim`, "", never, nil},
		{"priority", `SET @j = CONCAT(N'[{"queue":"odd","type":"t","priority":', @j, N'}]'); EXEC chokaq.EnqueueJobs @Jobs = @j`, "", never, nil},
		{"maxAttempts", `SET @j = CONCAT(N'[{"queue":"odd","type":"t","maxAttempts":', @j, N'}]'); EXEC chokaq.EnqueueJobs @Jobs = @j`, "", never, nil},
		{"dueAt", `SET @j = CONCAT(N'[{"queue":"odd","type":"t","dueAt":', @j, N'}]'); EXEC chokaq.EnqueueJobs @Jobs = @j`, "", never, nil},
		{"delayMs", `SET @j = CONCAT(N'[{"queue":"odd","type":"t","delayMs":', @j, N'}]'); EXEC chokaq.EnqueueJobs @Jobs = @j`, "", never, nil},
		{"headers", `SET @j = CONCAT(N'[{"queue":"odd","type":"t","headers":', @j, N'}]'); EXEC chokaq.EnqueueJobs @Jobs = @j`, "", never, nil},
		{"error", running + `SET @Claim = CONCAT(N'[{"id":', @Id, N',"token":"', @Token, N'","final":true,"error":', @j, N'}]'); EXEC chokaq.FailJobs @Jobs = @Claim`,
			"SELECT TOP (1) CONVERT(varbinary(max), Error) AS v FROM chokaq.JobsDLQ ORDER BY DeadAt DESC, JobId DESC", any, func(o odd) odd {
				if len(o) > 4000 {
					return append(slices.Clone(o[:3984]), oddly(" ... (truncated)")...)
				}
				return o
			}},
	}
}

// Whatever text goes in is stored as it is, or refused by the name of what it was given for, and then nothing has changed; and it means nothing to the server.
// The collation of the database decides what a character is: under one of the _SC kind a pair of surrogates is one, under an old one it weighs nothing.
func TestOddCharactersAreStoredOrRefused(t *testing.T) {
	t.Parallel()
	// Every text in every place in one collation, every fourth in the other: the test is long.
	for collation, stride := range map[string]int{"Latin1_General_100_CI_AS_SC": 1, "SQL_Latin1_General_CP1_CI_AS": 4} {
		t.Run(collation, func(t *testing.T) {
			d := newEmptyDatabase(t)
			mustExec(t, d.pool, "ALTER DATABASE "+d.name+" COLLATE "+collation)
			if err := (db.Installer{DSN: d.dsn}).Up(t.Context()); err != nil {
				t.Fatal(err)
			}
			storedOrRefused(t, d, stride)
		})
	}
}

func storedOrRefused(t *testing.T, d *database, stride int) {
	worker := registered(t, d, "odd")
	objects := changes(t, d)
	for i, f := range oddFields(d, worker) {
		t.Run(fmt.Sprint(i, " ", f.named), func(t *testing.T) {
			for n, what := range slices.Sorted(maps.Keys(oddTexts)) {
				if (n+i)%stride != 0 {
					continue
				}
				x := oddTexts[what]
				before := number(t, d.pool, "SELECT (SELECT COUNT(*) FROM chokaq.Jobs) + (SELECT COUNT(*) FROM chokaq.Workers) + (SELECT COUNT(*) FROM chokaq.Queues) AS n")
				_, err := query(context.Background(), d.pool, "DECLARE @x nvarchar(max) = CONVERT(nvarchar(max), @xBytes), @j nvarchar(max) = CONVERT(nvarchar(max), @jBytes);\n"+f.statement,
					sql.Named("xBytes", x.bytes()), sql.Named("jBytes", oddly(x.json()).bytes()))
				if !f.accepted(x) {
					e, ok := errors.AsType[mssql.Error](err)
					if !ok || e.Number < 51000 || e.Number > 51999 || !strings.Contains(e.Message, f.named) {
						t.Errorf("%s: want it refused as %s, got %v", what, f.named, err)
					}
					if after := number(t, d.pool, "SELECT (SELECT COUNT(*) FROM chokaq.Jobs) + (SELECT COUNT(*) FROM chokaq.Workers) + (SELECT COUNT(*) FROM chokaq.Queues) AS n"); after != before && !strings.Contains(f.statement, "@JobId = @Id OUTPUT") {
						t.Errorf("%s: refused, and something has changed", what)
					}
					continue
				}
				if err != nil {
					t.Errorf("%s: refused: %v", what, err)
					continue
				}
				if f.stored == "" {
					continue
				}
				want := x
				if f.as != nil {
					want = f.as(x)
				}
				if got := mustQuery(t, d.pool, f.stored)[0]["v"].([]byte); !bytes.Equal(got, want.bytes()) {
					t.Errorf("%s: stored as % x, want % x", what, got[:min(40, len(got))], want.bytes()[:min(40, 2*len(want))])
				}
			}
		})
	}
	if after := changes(t, d); !slices.Equal(objects, after) {
		t.Errorf("the schema has changed from %v to %v", objects, after)
	}
}

// Names that look or sort alike are different names, in everything that takes one.
func TestOddNamesAreToldApart(t *testing.T) {
	d := newDatabase(t)
	worker := registered(t, d, "q")
	byText := func(statement string, x odd) []row {
		t.Helper()
		return mustQuery(t, d.pool, "DECLARE @x nvarchar(max) = CONVERT(nvarchar(max), @xBytes), @j nvarchar(max) = CONVERT(nvarchar(max), @jBytes);\n"+statement,
			sql.Named("xBytes", x.bytes()), sql.Named("jBytes", oddly(x.json()).bytes()))
	}
	ids := make(map[string]int64)
	for what, x := range oddTexts {
		if x.isName(64) {
			ids[what] = byText("EXEC chokaq.EnqueueJob @Queue = @x, @JobType = N't', @IdempotencyKey = @x", x)[0]["JobId"].(int64)
		}
	}
	for what, id := range ids {
		x := oddTexts[what]
		if r := byText("EXEC chokaq.EnqueueJob @Queue = N'other', @JobType = N't', @IdempotencyKey = @x", x)[0]; r["JobId"] != id || r["Created"] != false {
			t.Errorf("%s: its key is answered with %v, want job %d", what, r, id)
		}
		byText("EXEC chokaq.PauseQueue @Queue = @x", x)
		const claim = `SET @j = CONCAT(N'[', @j, N']'); DECLARE @Token uniqueidentifier = NEWID(); EXEC chokaq.ClaimJobs @WorkerId = @w, @ClaimToken = @Token, @Queues = @j, @MaxJobs = 10`
		claimed := func() []row {
			return byText(strings.ReplaceAll(claim, "@w", "'"+worker.String()+"'"), x)
		}
		if r := claimed(); len(r) != 0 {
			t.Errorf("%s: paused, and claimed %v", what, r)
		}
		byText("EXEC chokaq.ResumeQueue @Queue = @x", x)
		if r := claimed(); len(r) != 1 || r[0]["JobId"] != id {
			t.Errorf("%s: claimed %v, want job %d", what, r, id)
		}
	}
	mustQuery(t, d.pool, "chokaq.ReleaseJobs", workerArg(worker))
	for _, id := range ids {
		mustQuery(t, d.pool, "chokaq.CancelJob", sql.Named("JobId", id))
	}
	for what, id := range ids {
		if r := byText("EXEC chokaq.FindDeadJobs @Queue = @x", oddTexts[what]); len(r) != 1 || r[0]["JobId"] != id {
			t.Errorf("%s: found %v, want job %d", what, r, id)
		}
	}
	// A filter is what it says, to its last character: one that is cut would find more.
	for what, x := range oddTexts {
		if len(x) > 64 {
			if r := byText("EXEC chokaq.FindDeadJobs @Queue = @x", x); len(r) != 0 {
				t.Errorf("%s: found %v", what, r)
			}
		}
	}
}

// What has a meaning in a pattern stands for itself in the search of error texts.
func TestErrorTextIsNoPattern(t *testing.T) {
	d := newDatabase(t)
	worker := registered(t, d, "q")
	texts := []string{"100% done", "100 done", "a_b", "axb", "[a-c]", "b", "]]", "'--", `C:\temp`, "C:temp", `\`, "[^a]", "*", "__"}
	held := processing(t, d, worker, "q", len(texts))
	for i, text := range texts {
		answers(t, d.pool, "FailJobs", claimsJSON(t, held[i:i+1], map[string]any{"final": true, "error": text}))
	}
	for _, search := range append([]string{"%", "_", "[", "]", "[a-c]", `\`, "'", "--", "a", "%done", strings.Repeat("x", 1001), "100 done" + strings.Repeat(" ", 1200) + "x"}, texts...) {
		var want, got []string
		for _, text := range texts {
			if strings.Contains(strings.ToLower(text), strings.ToLower(search)) {
				want = append(want, text)
			}
		}
		rows, err := query(t.Context(), d.pool, "chokaq.FindDeadJobs", sql.Named("ErrorText", search))
		if len(search) > 1000 {
			wantError(t, err, 51001, "@ErrorText")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			got = append(got, r["Error"].(string))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q finds %q, want %q", search, got, want)
		}
	}
}

// Through the driver: what Go's strings can hold arrives as it is, and what is no text is refused, not replaced.
func TestOddStringsThroughTheDriver(t *testing.T) {
	d := newDatabase(t)
	client := d.client(t)
	for what, x := range oddTexts {
		s := string(utf16.Decode(x))
		if !slices.Equal(oddly(s), x) {
			continue
		}
		enqueued, err := client.Enqueue(t.Context(), driver.NewJob{Type: "t", Queue: "q", IdempotencyKey: s, Args: map[string]string{"k": s}, Headers: map[string]string{"h": s[:min(len(s), 100)]}})
		if !x.isName(200) {
			if err == nil {
				t.Errorf("%s: accepted as a key", what)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		r := mustQuery(t, d.pool, "SELECT IdempotencyKey AS k, JSON_VALUE(Payload, '$.k') AS p FROM chokaq.Jobs WHERE JobId = @Id", sql.Named("Id", enqueued.JobID))[0]
		if r["k"] != s || r["p"] != s {
			t.Errorf("%s: %q has become %v", what, s, r)
		}
	}
	for what, job := range map[string]driver.NewJob{
		"type": {Type: "a\xff"}, "queue": {Type: "t", Queue: "a\xff"}, "key": {Type: "t", IdempotencyKey: "a\xff"}, "arguments": {Type: "t", Args: json.RawMessage("\"a\xff\"")},
		"header": {Type: "t", Headers: map[string]string{"k": "a\xff"}},
	} {
		if enqueued, err := client.Enqueue(t.Context(), job); !errors.Is(err, driver.ErrInvalidArgument) {
			t.Errorf("%s: bytes that are no text: job %d, %v", what, enqueued.JobID, err)
		}
	}
}
