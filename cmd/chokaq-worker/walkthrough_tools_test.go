package main

import (
	"context"
	"database/sql"
	"errors"
	stdflag "flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/golang-sql/sqlexp"
	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/batch"
)

// runAsTool makes the test binary behave as a program that the walkthrough needs and that is not on this machine: curl, or tsql and bsqldb of
// FreeTDS, as far as the walkthrough uses them.
const runAsTool = "RUN_AS_TOOL"

func tool() error {
	name, args := os.Args[1], os.Args[2:]
	if name == "curl" {
		if fetch(args) != nil {
			os.Exit(7) // it is called with -s: it says nothing
		}
		return nil
	}
	flags := stdflag.NewFlagSet(name, stdflag.ContinueOnError)
	host, port, server := flags.String("H", "127.0.0.1", ""), flags.String("p", "1433", ""), flags.String("S", "", "")
	user, password, database := flags.String("U", "", ""), flags.String("P", "", ""), flags.String("D", "master", "")
	input := flags.String("i", "", "")
	flags.String("o", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *server == "" {
		*server = *host + ":" + *port
	}
	source := os.Stdin
	if *input != "" {
		file, err := os.Open(*input)
		if err != nil {
			return err
		}
		defer file.Close()
		source = file
	}
	text, err := io.ReadAll(source)
	if err != nil {
		return err
	}
	dsn := url.URL{Scheme: "sqlserver", Host: *server, User: url.UserPassword(*user, *password), RawQuery: url.Values{"database": {*database}, "encrypt": {"disable"}}.Encode()}
	pool, err := sql.Open("sqlserver", dsn.String())
	if err != nil {
		return err
	}
	defer pool.Close()
	conn, err := pool.Conn(context.Background())
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, b := range batch.Split(string(text), "GO") {
		if err := runBatch(conn, b); err != nil {
			return err
		}
	}
	return nil
}

// runBatch prints messages, errors and rows as they come.
func runBatch(conn *sql.Conn, text string) error {
	ctx, message := context.Background(), &sqlexp.ReturnMessage{}
	rows, err := conn.QueryContext(ctx, text, message)
	if err != nil {
		return err
	}
	defer rows.Close()
	for more := true; more; {
		switch m := message.Message(ctx).(type) {
		case sqlexp.MsgNotice:
			if e, ok := m.Message.(mssql.Error); ok {
				fmt.Println(e.Message)
			}
		case sqlexp.MsgError:
			fmt.Println(m.Error)
		case sqlexp.MsgNext:
			if err := printRows(rows); err != nil {
				return err
			}
		case sqlexp.MsgNextResultSet:
			more = rows.NextResultSet()
		}
	}
	return rows.Err()
}

func printRows(rows *sql.Rows) error {
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		cells, targets := make([]any, len(names)), make([]any, len(names))
		for i := range cells {
			targets[i] = &cells[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		var line []string
		for _, c := range cells {
			if b, ok := c.(bool); ok {
				c = map[bool]int{true: 1, false: 0}[b]
			}
			line = append(line, fmt.Sprint(c))
		}
		fmt.Println(strings.Join(line, "\t"))
	}
	return nil
}

func fetch(args []string) error {
	answer, err := http.Get(args[len(args)-1])
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if strings.Contains(filepath.Base(args[0]), "f") && answer.StatusCode >= 400 {
		return errors.New(answer.Status)
	}
	_, err = io.Copy(os.Stdout, answer.Body)
	return err
}
