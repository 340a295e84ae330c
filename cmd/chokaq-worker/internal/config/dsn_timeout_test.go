package config

import (
	"testing"
	"time"

	"github.com/microsoft/go-mssqldb/msdsn"
)

func TestWithTimeout(t *testing.T) {
	for _, c := range []struct {
		dsn           string
		silence       time.Duration
		call, connect time.Duration
	}{
		{"sqlserver://u:p%3Bq@h:1433?database=d", time.Minute, time.Minute, 15 * time.Second},
		{"sqlserver://u:p@h:1433?database=d", 1500 * time.Millisecond, 2 * time.Second, 2 * time.Second},
		{"sqlserver://u:p@h?database=d&connection+timeout=7", time.Minute, 7 * time.Second, 15 * time.Second},
		{"sqlserver://u:p@h?database=d&Connection%20Timeout=0&dial+timeout=3", time.Second, 0, 3 * time.Second},
		{"sqlserver://u:p@h?database=d", 0, 0, 15 * time.Second},
		{"server=h;user id=u;password=p;database=d;", 5 * time.Second, 5 * time.Second, 5 * time.Second},
		{"server=h;user id=u;password=p;database=d;connect timeout=9", 5 * time.Second, 9 * time.Second, 5 * time.Second},
		{"odbc:server=h;user id=u;password={a;b};database=d", 5 * time.Second, 5 * time.Second, 5 * time.Second},
	} {
		before, err := msdsn.Parse(c.dsn)
		if err != nil {
			t.Fatal(err)
		}
		after, err := msdsn.Parse(Connection{DSN: c.dsn}.WithTimeout(c.silence))
		if err != nil || after.ConnTimeout != c.call || after.DialTimeout != c.connect && after.DialTimeout != 2*c.connect && after.DialTimeout != 3*c.connect {
			t.Errorf("%s: %v, %v, %v", c.dsn, after.ConnTimeout, after.DialTimeout, err)
		}
		if after.Password != before.Password || after.Host != before.Host || after.Database != before.Database {
			t.Errorf("%s: became another database", c.dsn)
		}
	}
}
