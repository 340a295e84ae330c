package tds

import (
	"bytes"
	"context"
	"crypto/tls"
	"database/sql"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-sql/civil"
	"github.com/golang-sql/sqlexp"
	"github.com/google/uuid"
	mssql "github.com/microsoft/go-mssqldb"

	"github.com/chokaq/chokaq/internal/sqlsim/engine"
	"github.com/chokaq/chokaq/internal/sqlsim/fault"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

func TestEncryptionModes(t *testing.T) {
	b := &scripted{call: echoParams}
	_, addr := start(t, b, Options{})
	for _, options := range []string{
		"encrypt=disable", "encrypt=false&TrustServerCertificate=true", "encrypt=true&TrustServerCertificate=true",
		"encrypt=disable&packet+size=512", "encrypt=true&TrustServerCertificate=true&packet+size=32767",
		"encrypt=disable&app+name=my+app&dial+timeout=3&connection+timeout=5&keepAlive=10&ApplicationIntent=ReadOnly",
	} {
		t.Run(options, func(t *testing.T) {
			db := open(t, addr, options)
			long := strings.Repeat("0123456789é", 3000)
			var n int
			var s string
			if err := db.QueryRow("SELECT @p1, @p2", 42, long).Scan(&n, &s); err != nil {
				t.Fatal(err)
			}
			if n != 42 || s != long {
				t.Errorf("got %d and %d bytes", n, len(s))
			}
		})
	}
	last := b.logins[len(b.logins)-1]
	if last.AppName != "my app" || last.Database != "chokaq" || last.User != "sa" || !last.ReadOnly || last.HostName == "" {
		t.Errorf("login was %+v", last)
	}
}

func TestStrictEncryption(t *testing.T) {
	cert, file := certificate(t)
	_, addr := start(t, &scripted{call: echoParams}, Options{Certificate: &cert})
	db := open(t, addr, "encrypt=strict&certificate="+url.QueryEscape(file))
	var n int
	if err := db.QueryRow("SELECT @p1", 1).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
}

func TestNoTLS(t *testing.T) {
	_, addr := start(t, &scripted{call: echoParams}, Options{NoTLS: true})
	if err := open(t, addr, "encrypt=false").Ping(); err == nil {
		var n int
		if err := open(t, addr, "encrypt=false").QueryRow("SELECT @p1", 1).Scan(&n); err != nil {
			t.Error(err)
		}
	}
	if err := open(t, addr, "encrypt=true&TrustServerCertificate=true").Ping(); err == nil {
		t.Error("an encrypted connection to a server without TLS")
	}
}

func TestWrongPassword(t *testing.T) {
	_, addr := start(t, &scripted{}, Options{})
	connector, err := mssql.NewConnector("sqlserver://bob:wrong@" + addr + "?encrypt=disable")
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	var e mssql.Error
	if err := db.Ping(); !errors.As(err, &e) || e.Number != 18456 || e.Class != 14 || e.State != 1 || !strings.HasSuffix(e.Message, "Login failed for user 'bob'.") {
		t.Errorf("%#v", err)
	}
}

func TestParametersOfAllTypes(t *testing.T) {
	_, addr := start(t, &scripted{call: echoParams}, Options{})
	db := open(t, addr, "encrypt=disable")
	moment := time.Date(2024, 5, 6, 7, 8, 9, 123_456_700, time.FixedZone("", 2*3600))
	id := uuid.New()
	var gotID mssql.UniqueIdentifier
	rows, err := db.Query("SELECT 1",
		int64(1<<40), true, 1.5, "héllo 😀", []byte{1, 2, 3}, moment, nil, mssql.UniqueIdentifier(id), mssql.VarChar("é"),
		mssql.DateTime1(moment.UTC()), civil.DateOf(moment), civil.TimeOf(moment), strings.Repeat("x", 5000), bytes.Repeat([]byte{7}, 9000), "",
		mssql.VarCharMax(strings.Repeat("y", 10000)), []byte{}, int32(-5), float32(2.5))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, ct := range types {
		names = append(names, ct.DatabaseTypeName())
	}
	if !rows.Next() {
		t.Fatal(rows.Err())
	}
	dest := make([]any, len(names))
	ptrs := make([]any, len(names))
	for i := range dest {
		ptrs[i] = &dest[i]
	}
	ptrs[7] = &gotID
	if err := rows.Scan(ptrs...); err != nil {
		t.Fatal(err)
	}
	dest[7] = gotID.String()
	// The driver sends varchar as it finds it, in UTF-8, whatever the code page.
	want := []any{int64(1 << 40), true, 1.5, "héllo 😀", []byte{1, 2, 3}, moment, nil, strings.ToUpper(id.String()), "Ã©"}
	for i, w := range want {
		g := dest[i]
		if gt, ok := g.(time.Time); ok {
			if !gt.Equal(w.(time.Time)) {
				t.Errorf("%d: %v, want %v", i, g, w)
			}
			if _, off := gt.Zone(); off != 7200 {
				t.Errorf("offset %d", off)
			}
			continue
		}
		if fmt.Sprint(g) != fmt.Sprint(w) {
			t.Errorf("parameter %d (%s): %v, want %v", i, names[i], g, w)
		}
	}
	if got := dest[9].(time.Time); got.Format("15:04:05.000") != "05:08:09.123" {
		t.Errorf("datetime %v", got)
	}
	if got := dest[10].(time.Time); got.Format(time.DateOnly) != "2024-05-06" {
		t.Errorf("date %v", got)
	}
	if got := dest[11].(time.Time); got.Format("15:04:05.0000000") != "07:08:09.1234567" {
		t.Errorf("time %v", got)
	}
	if len(dest[12].(string)) != 5000 || len(dest[13].([]byte)) != 9000 || dest[14] != "" || len(dest[15].(string)) != 10000 {
		t.Error("a long or an empty value did not come back")
	}
	if dest[17] != int64(-5) || dest[18] != 2.5 {
		t.Errorf("int32 %v, float32 %v", dest[17], dest[18])
	}
}

func TestColumnsOfAllTypes(t *testing.T) {
	big38, _ := new(big.Int).SetString("-12345678901234567890123456789012345678", 10)
	ticks := value.TicksOf(time.Date(2024, 5, 6, 7, 8, 9, 123_456_700, time.UTC))
	type sample struct {
		typ  value.Type
		v    value.Value
		name string
		want string
	}
	samples := []sample{
		{value.Type{Kind: value.Bit}, value.NewBit(true), "BIT", "true"},
		{value.Type{Kind: value.TinyInt}, value.NewInt(value.TinyInt, 255), "TINYINT", "255"},
		{value.Type{Kind: value.SmallInt}, value.NewInt(value.SmallInt, -2), "SMALLINT", "-2"},
		{value.Type{Kind: value.Int}, value.NewInt(value.Int, -3), "INT", "-3"},
		{value.Type{Kind: value.BigInt}, value.NewInt(value.BigInt, 1<<60), "BIGINT", "1152921504606846976"},
		{value.Type{Kind: value.Decimal, Precision: 38, Scale: 5}, value.NewDecimal(big38, 5), "DECIMAL", "-123456789012345678901234567890123.45678"},
		{value.Type{Kind: value.Decimal, Precision: 5, Scale: 2}, value.NewDecimalInt(1, 0), "DECIMAL", "1.00"},
		{value.Type{Kind: value.Money}, value.NewInt(value.Money, -12345), "MONEY", "-1.2345"},
		{value.Type{Kind: value.SmallMoney}, value.NewInt(value.SmallMoney, 12345), "SMALLMONEY", "1.2345"},
		{value.Type{Kind: value.Real}, value.NewReal(0.5), "REAL", "0.5"},
		{value.Type{Kind: value.Float}, value.NewFloat(0.25), "FLOAT", "0.25"},
		{value.Type{Kind: value.Date}, value.NewDate(ticks / value.TicksPerDay), "DATE", "2024-05-06 00:00:00 +0000 UTC"},
		{value.Type{Kind: value.Time, Scale: 3}, value.NewTime(ticks%value.TicksPerDay, 3), "TIME", "0001-01-01 07:08:09.123 +0000 UTC"},
		{value.Type{Kind: value.SmallDateTime}, value.NewSmallDateTime(ticks), "SMALLDATETIME", "2024-05-06 07:08:00 +0000 UTC"},
		{value.Type{Kind: value.DateTime}, value.NewDateTime(ticks), "DATETIME", "2024-05-06 07:08:09.123 +0000 UTC"},
		{value.Type{Kind: value.DateTime2, Scale: 7}, value.NewDateTime2(ticks, 7), "DATETIME2", "2024-05-06 07:08:09.1234567 +0000 UTC"},
		{value.Type{Kind: value.DateTimeOffset, Scale: 0}, value.NewDateTimeOffset(ticks, -90, 0), "DATETIMEOFFSET", "2024-05-06 05:38:09 -0130 -0130"},
		{value.Type{Kind: value.Char, Length: 3}, value.NewString(value.Char, "a  "), "CHAR", "a  "},
		{value.Type{Kind: value.VarChar, Length: 30}, value.NewString(value.VarChar, "é€"), "VARCHAR", "é€"},
		{value.Type{Kind: value.NChar, Length: 2}, value.NewString(value.NChar, "日 "), "NCHAR", "日 "},
		{value.Type{Kind: value.NVarChar, Length: 30}, value.NewString(value.NVarChar, "😀"), "NVARCHAR", "😀"},
		{value.Type{Kind: value.NVarChar, Length: value.Max}, value.NewString(value.NVarChar, ""), "NVARCHAR", ""},
		{value.Type{Kind: value.VarChar, Length: value.Max}, value.NewString(value.VarChar, "max"), "VARCHAR", "max"},
		{value.Type{Kind: value.Binary, Length: 2}, value.NewBinary(value.Binary, []byte{1, 0}), "BINARY", "[1 0]"},
		{value.Type{Kind: value.VarBinary, Length: 9}, value.NewBinary(value.VarBinary, []byte{9}), "VARBINARY", "[9]"},
		{value.Type{Kind: value.VarBinary, Length: value.Max}, value.NewBinary(value.VarBinary, []byte{8}), "VARBINARY", "[8]"},
		{value.Type{Kind: value.RowVersion}, value.NewBinary(value.RowVersion, make([]byte, 8)), "BINARY", "[0 0 0 0 0 0 0 0]"},
		{value.Type{Kind: value.UniqueIdentifier}, value.NewUUID([16]byte{1, 2, 3, 4, 5, 6, 7, 8}), "UNIQUEIDENTIFIER", "[4 3 2 1 6 5 8 7 0 0 0 0 0 0 0 0]"},
		{value.Type{Kind: value.Variant}, value.NewInt(value.BigInt, 5), "SQL_VARIANT", "5"},
		{value.Type{Kind: value.Variant}, value.NewString(value.NVarChar, "ü"), "SQL_VARIANT", "ü"},
		{value.Type{Kind: value.Variant}, value.NewDecimalInt(-15, 1), "SQL_VARIANT", "-1.5"},
		{value.Type{Kind: value.Variant}, value.NewDateTime2(ticks, 3), "SQL_VARIANT", "2024-05-06 07:08:09.123 +0000 UTC"},
	}
	b := &scripted{batch: func(_ context.Context, _ *scriptedSession, _ string, sink engine.Sink) error {
		var cols []engine.Column
		var row, nulls []value.Value
		for i, s := range samples {
			cols = append(cols, engine.Column{Name: fmt.Sprint("c", i), Type: s.typ, Nullable: true})
			row = append(row, s.v)
			nulls = append(nulls, value.NewNull(s.typ.Kind))
		}
		sink.Columns(cols)
		sink.Row(row)
		sink.Row(nulls)
		return sink.Done(engine.CommandSelect, 2, true)
	}}
	_, addr := start(t, b, Options{})
	rows, err := open(t, addr, "encrypt=disable").Query("SELECT")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	dest := make([]any, len(samples))
	ptrs := make([]any, len(samples))
	for i := range dest {
		ptrs[i] = &dest[i]
	}
	rows.Next()
	if err := rows.Scan(ptrs...); err != nil {
		t.Fatal(err)
	}
	for i, s := range samples {
		got := dest[i]
		if b, ok := got.([]byte); ok && (s.typ.Kind == value.Decimal || s.typ.Kind.IsMoney() || s.v.Kind() == value.Decimal) {
			got = string(b)
		}
		if fmt.Sprint(got) != s.want {
			t.Errorf("%v: %v, want %s", s.typ, got, s.want)
		}
		if name := types[i].DatabaseTypeName(); name != s.name {
			t.Errorf("%v is called %s, want %s", s.typ, name, s.name)
		}
	}
	if !rows.Next() {
		t.Fatal(rows.Err())
	}
	if err := rows.Scan(ptrs...); err != nil {
		t.Fatal(err)
	}
	for i, v := range dest {
		if v != nil {
			t.Errorf("%v: NULL came as %v", samples[i].typ, v)
		}
	}
}

var oneInt = []engine.Column{{Name: "n", Type: value.Type{Kind: value.Int}}}

func intRow(n int64) []value.Value { return []value.Value{value.NewInt(value.Int, n)} }

func TestSeveralResultSetsAndErrors(t *testing.T) {
	b := &scripted{batch: func(_ context.Context, _ *scriptedSession, _ string, sink engine.Sink) error {
		sink.Message(value.NewError(0, 0, 1, "hello"))
		sink.Columns(oneInt)
		sink.Row(intRow(1))
		sink.Done(engine.CommandSelect, 1, true)
		sink.Done(engine.CommandUpdate, 7, true)
		sink.Columns(oneInt)
		sink.Row(intRow(2))
		sink.Done(engine.CommandSelect, 1, true)
		e := value.NewError(547, 16, 2, "it conflicted")
		e.Procedure, e.Line = "dbo.p", 42
		sink.Message(e)
		return sink.Done(engine.CommandInsert, 0, false)
	}}
	_, addr := start(t, b, Options{Name: "box"})
	rows, err := open(t, addr, "encrypt=disable").Query("x")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []int
	for {
		for rows.Next() {
			var n int
			if err := rows.Scan(&n); err != nil {
				t.Fatal(err)
			}
			got = append(got, n)
		}
		if !rows.NextResultSet() {
			break
		}
	}
	if !slices.Equal(got, []int{1, 2}) {
		t.Errorf("rows %v", got)
	}
	var e mssql.Error
	if !errors.As(rows.Err(), &e) || e.Number != 547 || e.State != 2 || e.Class != 16 || e.ProcName != "dbo.p" || e.LineNo != 42 || e.ServerName != "box" {
		t.Errorf("error %#v", rows.Err())
	}
}

// TestMessageLoop reads results as sqlexp does, message by message.
func TestMessageLoop(t *testing.T) {
	b := &scripted{batch: func(_ context.Context, _ *scriptedSession, _ string, sink engine.Sink) error {
		sink.Message(value.NewError(0, 0, 1, "first"))
		sink.Done(engine.CommandUpdate, 2, true)
		sink.Done(engine.CommandUpdate, 99, false) // NOCOUNT
		sink.Columns(oneInt)
		sink.Row(intRow(1))
		sink.Row(intRow(2))
		sink.Done(engine.CommandSelect, 2, true)
		sink.Message(value.NewError(50000, 16, 1, "oops"))
		return sink.Done(engine.CommandOther, 0, false)
	}}
	_, addr := start(t, b, Options{})
	var messages sqlexp.ReturnMessage
	rows, err := open(t, addr, "encrypt=disable").QueryContext(t.Context(), "some batch", &messages)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var log []string
	for active := true; active; {
		switch m := messages.Message(t.Context()).(type) {
		case sqlexp.MsgNotice:
			log = append(log, "notice "+m.Message.String())
		case sqlexp.MsgRowsAffected:
			log = append(log, fmt.Sprint("affected ", m.Count))
		case sqlexp.MsgError:
			log = append(log, "error "+m.Error.Error())
		case sqlexp.MsgNext:
			n := 0
			for rows.Next() {
				n++
			}
			log = append(log, fmt.Sprint("rows ", n))
		case sqlexp.MsgNextResultSet:
			active = rows.NextResultSet()
		}
	}
	want := []string{"notice first", "affected 2", "rows 2", "affected 2", "error mssql: oops (50000)"}
	if !slices.Equal(log, want) {
		t.Errorf("%q, want %q", log, want)
	}
}

func TestVerifiedCertificate(t *testing.T) {
	cert, file := certificate(t)
	_, addr := start(t, &scripted{call: echoParams}, Options{Certificate: &cert})
	var n int
	if err := open(t, addr, "encrypt=true&certificate="+url.QueryEscape(file)).QueryRow("SELECT @p1", 1).Scan(&n); err != nil {
		t.Error(err)
	}
	if err := open(t, addr, "encrypt=true").Ping(); err == nil {
		t.Error("a certificate that nobody vouches for was taken")
	}
}

// certificate makes one, and a file of it for the client.
func certificate(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	cert, err := selfSigned("sqlsim")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "sqlsim.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}), 0o600); err != nil {
		t.Fatal(err)
	}
	return cert, file
}

func TestPreparedStatement(t *testing.T) {
	_, addr := start(t, &scripted{call: echoParams}, Options{})
	stmt, err := open(t, addr, "encrypt=disable").Prepare("SELECT @p1")
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	for i := range 3 {
		var n int
		if err := stmt.QueryRow(i).Scan(&n); err != nil || n != i {
			t.Errorf("%d, %v", n, err)
		}
	}
}

// TestKilledSession ends a session from the server's side while its request runs.
func TestKilledSession(t *testing.T) {
	running := make(chan func())
	b := &scripted{batch: func(ctx context.Context, s *scriptedSession, _ string, _ engine.Sink) error {
		running <- s.hangUp
		<-ctx.Done()
		return context.Cause(ctx)
	}}
	_, addr := start(t, b, Options{})
	db := open(t, addr, "encrypt=disable&disableretry=true")
	result := make(chan error)
	go func() { _, err := db.Exec("a long batch"); result <- err }()
	(<-running)()
	if err := <-result; err == nil {
		t.Error("the request of a killed session succeeded")
	}
}

func TestLargeValues(t *testing.T) {
	_, addr := start(t, &scripted{call: echoParams}, Options{})
	db := open(t, addr, "encrypt=disable&packet+size=512")
	for _, n := range []int{503, 504, 505, 1008, 100_000, 8 << 20} {
		long := bytes.Repeat([]byte{byte(n), 1, 2}, n/3+1)[:n]
		var got []byte
		if err := db.QueryRow("SELECT @p1", long).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, long) {
			t.Errorf("%d bytes came back changed", n)
		}
	}
}

func TestOutputAndReturnStatus(t *testing.T) {
	b := &scripted{call: func(_ context.Context, _ *scriptedSession, call engine.Call, sink engine.Sink) error {
		if call.Procedure != "dbo.p" || call.Params[0].Name != "@in" || !call.Params[1].Output {
			return value.NewError(2812, 16, 62, "unexpected call %+v", call)
		}
		sink.Done(engine.CommandUpdate, 3, true)
		sink.Output(1, "@out", call.Params[1].Type, value.NewString(value.NVarChar, "got "+call.Params[0].Value.Str()))
		return sink.Return(7)
	}}
	_, addr := start(t, b, Options{})
	db := open(t, addr, "encrypt=disable")
	out := strings.Repeat(" ", 10)
	var status mssql.ReturnStatus
	res, err := db.Exec("dbo.p", sql.Named("in", "x"), sql.Named("out", sql.Out{Dest: &out}), &status)
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := res.RowsAffected(); n != 3 || out != "got x" || status != 7 {
		t.Errorf("%d rows, %q, status %d", n, out, status)
	}
}

func TestTransactions(t *testing.T) {
	b := &scripted{}
	b.batch = func(_ context.Context, s *scriptedSession, sql string, sink engine.Sink) error {
		if sql == "doom" {
			s.tran = 0 // and leaves it to the wire to say so
			return sink.Message(value.NewError(1205, 13, 51, "You lost."))
		}
		return sink.Done(engine.CommandInsert, 1, true)
	}
	_, addr := start(t, b, Options{})
	db := open(t, addr, "encrypt=disable")
	db.SetMaxOpenConns(1)
	ctx := t.Context()
	for _, level := range []sql.IsolationLevel{sql.LevelDefault, sql.LevelReadCommitted, sql.LevelSerializable, sql.LevelSnapshot} {
		tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec("insert"); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	var e mssql.Error
	if _, err := tx.Exec("doom"); !errors.As(err, &e) || e.Number != 1205 {
		t.Errorf("%v", err)
	}
	tx.Rollback()
	if _, err := db.Exec("insert"); err != nil {
		t.Errorf("after a rollback by the server: %v", err)
	}
	log := slices.DeleteFunc(b.noted(), func(s string) bool { return s == "reset" })
	if want := []string{"begin 0", "commit", "begin 2", "commit", "begin 4", "commit", "begin 5", "commit", "begin 0"}; !slices.Equal(log[:len(want)], want) {
		t.Errorf("requests %v", log)
	}
}

func TestCancellation(t *testing.T) {
	started := make(chan struct{})
	b := &scripted{}
	b.batch = func(ctx context.Context, _ *scriptedSession, sql string, sink engine.Sink) error {
		if sql != "forever" {
			return sink.Done(engine.CommandUpdate, 1, true)
		}
		sink.Columns(oneInt)
		sink.Row(intRow(1))
		started <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	s, addr := start(t, b, Options{})
	db := open(t, addr, "encrypt=disable")
	db.SetMaxOpenConns(1)
	for range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-started
			cancel()
		}()
		if _, err := db.ExecContext(ctx, "forever"); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled request: %v", err)
		}
		if _, err := db.Exec("next"); err != nil {
			t.Errorf("after a cancellation: %v", err)
		}
	}
	if c := s.Counters(); c.Attentions != 5 || c.Connections != 1 {
		t.Errorf("%+v", c)
	}
}

func TestResetBetweenUses(t *testing.T) {
	b := &scripted{batch: func(_ context.Context, _ *scriptedSession, _ string, sink engine.Sink) error {
		return sink.Done(engine.CommandUpdate, 1, true)
	}}
	s, addr := start(t, b, Options{})
	db := open(t, addr, "encrypt=disable")
	db.SetMaxOpenConns(1)
	for range 3 {
		if _, err := db.Exec("x"); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.Counters().Resets; n != 3 {
		t.Errorf("%d resets", n)
	}
}

func TestTableParameter(t *testing.T) {
	var got *engine.TableParam
	b := &scripted{call: func(_ context.Context, _ *scriptedSession, call engine.Call, sink engine.Sink) error {
		got = call.Params[2].Table
		return sink.Return(0)
	}}
	_, addr := start(t, b, Options{})
	type row struct {
		ID   int64
		Name *string
	}
	name := "b"
	if _, err := open(t, addr, "encrypt=disable").Exec("EXEC p @p1", mssql.TVP{TypeName: "chokaq.Rows", Value: []row{{1, nil}, {2, &name}}}); err != nil {
		t.Fatal(err)
	}
	if got == nil || got.Schema != "chokaq" || got.Name != "Rows" || len(got.Columns) != 2 || len(got.Rows) != 2 ||
		got.Rows[1][0].Int() != 2 || got.Rows[1][1].Str() != "b" || !got.Rows[0][1].IsNull() {
		t.Errorf("%+v", got)
	}
}

func TestBulkCopyIsRefused(t *testing.T) {
	b := &scripted{}
	b.batch = func(_ context.Context, _ *scriptedSession, sql string, sink engine.Sink) error {
		if strings.Contains(strings.ToUpper(sql), "FMTONLY") {
			sink.Columns(oneInt)
		}
		return sink.Done(engine.CommandSelect, 0, true)
	}
	_, addr := start(t, b, Options{})
	tx, err := open(t, addr, "encrypt=disable").Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	stmt, err := tx.Prepare(mssql.CopyIn("t", mssql.BulkOptions{}, "n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = stmt.Exec(1); err == nil {
		_, err = stmt.Exec()
	}
	if err == nil || !strings.Contains(err.Error(), "bulk load") {
		t.Errorf("bulk copy: %v", err)
	}
}

func TestFaults(t *testing.T) {
	in := fault.New()
	var ran atomic.Int32
	b := &scripted{batch: func(_ context.Context, _ *scriptedSession, _ string, sink engine.Sink) error {
		ran.Add(1)
		return sink.Done(engine.CommandUpdate, 1, true)
	}}
	s, addr := start(t, b, Options{Faults: in})
	db := open(t, addr, "encrypt=disable&disableretry=true")
	db.SetMaxOpenConns(1)
	exec := func() error {
		_, err := db.Exec("EXEC dbo.Work")
		return err
	}
	var e mssql.Error

	rule := in.Add(fault.Refuse("dbo.Work", 1205, "deadlock"))
	if err := exec(); !errors.As(err, &e) || e.Number != 1205 || ran.Load() != 0 {
		t.Errorf("failed before: %v, ran %d", err, ran.Load())
	}
	rule.Remove()

	rule = in.Add(fault.Rule{Procedure: "Work", Times: 1, When: fault.After, Drop: true})
	if err := exec(); err == nil || ran.Load() != 1 {
		t.Errorf("dropped after: %v, ran %d", err, ran.Load())
	}
	if err := exec(); err != nil || ran.Load() != 2 || rule.Count() != 1 {
		t.Errorf("then: %v, ran %d", err, ran.Load())
	}
	rule.Remove()

	rule = in.Add(fault.Rule{Text: "work", When: fault.After, Hold: true})
	result := make(chan error)
	go func() { result <- exec() }()
	if err := rule.WaitHeld(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	rule.Remove()
	if err := <-result; err != nil {
		t.Errorf("held: %v", err)
	}

	rule = in.Add(fault.Rule{Silent: true})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, err := db.ExecContext(ctx, "x"); result <- err }()
	if err := rule.WaitStruck(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	rule.Remove()
	cancel()
	s.DropConnections() // the answer to the driver's attention does not come either
	if err := <-result; err == nil {
		t.Error("an answer out of the black hole")
	}

	in.Add(fault.Rule{Logins: true, Times: 1, Error: fault.DatabaseUnavailable})
	other := open(t, addr, "encrypt=disable&disableretry=true")
	if err := other.Ping(); !errors.As(err, &e) || e.Number != 40613 {
		t.Errorf("login: %v", err)
	}
	if err := other.Ping(); err != nil {
		t.Error(err)
	}
}

func TestPanicBecomesAnError(t *testing.T) {
	b := &scripted{batch: func(context.Context, *scriptedSession, string, engine.Sink) error { panic("oops") }}
	_, addr := start(t, b, Options{})
	if _, err := open(t, addr, "encrypt=disable").Exec("x"); err == nil || !strings.Contains(err.Error(), "oops") {
		t.Errorf("%v", err)
	}
}

func TestHostileClients(t *testing.T) {
	s, addr := start(t, &scripted{}, Options{MaxMessage: 1 << 20, LoginTimeout: 5 * time.Second})
	for name, data := range map[string]string{
		"http":            "GET / HTTP/1.1\r\n\r\n",
		"short length":    "\x12\x01\x00\x03\x00\x00\x00\x00",
		"huge prelogin":   strings.Repeat("\x12\x00\xff\xff\x00\x00\x00\x00"+strings.Repeat("\x00", 65527), 3),
		"option outside":  "\x12\x01\x00\x0e\x00\x00\x00\x00\x00\xff\xff\x00\x06\xff",
		"login too short": "\x10\x01\x00\x0c\x00\x00\x00\x00\x04\x00\x00\x00",
		"broken tls":      "\x16\x03\x01\x00\x05hello",
		"batch first":     "\x01\x01\x00\x0a\x00\x00\x00\x00x\x00",
	} {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		nc.Write([]byte(data))
		nc.SetReadDeadline(time.Now().Add(5 * time.Second))
		var buf [512]byte
		for err == nil {
			_, err = nc.Read(buf[:])
		}
		var ne net.Error
		if errors.As(err, &ne) && ne.Timeout() {
			t.Errorf("%s: the server did not hang up", name)
		}
		nc.Close()
	}
	if s.Counters().Logins != 0 {
		t.Error("somebody got in")
	}
}
