package driver

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/microsoft/go-mssqldb/msdsn"
)

// Whatever a data source name is, it is one or ErrConfig; its password is read as it is if it is encoded, and is in no message.
func FuzzOpen(f *testing.F) {
	for _, seed := range [][3]string{
		{"Pa55-word", "@host:1433?database=shop", "server=host;database=shop;password=Pa55 word"},
		{"Pa55%zz word", "@host:port?database=shop", "server=host;database=shop;port=x"},
		{"Pa55/#?@:word", "@host", "odbc:server={host};pwd={Pa55}}word};database=d"},
		{"Pa55'\"}};=word\x00\xff", "@[::1]:99999?database=d&dial+timeout=x", "mssql://\xff\xfehost?encrypt=maybe&database=d"},
		{"пароль שלום\u200f 😀", "@host/instance?database=d&packet+size=1&certificate=/no/such/file", "sqlserver://sa:Pa55%zzword@host"},
		{"Pa55+%20word", "@host?database=d&database=e&DATABASE=f", "="},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, password, after, other string) {
		encoded := url.UserPassword("sa", password).String()
		dsn := "sqlserver://" + encoded + after
		for _, text := range []string{dsn, other} {
			client, err := Open(text)
			if err == nil {
				if err := client.Close(); err != nil {
					t.Error(err)
				}
				continue
			}
			if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "accepted: sqlserver://") {
				t.Errorf("not ErrConfig, or no accepted form: %v", err)
			}
			if text == dsn && len(password) > 5 && !strings.Contains(after, password) && !strings.Contains(ErrConfig.Error()+"data source name names no database, or is not one cannot be parsed unable connection string invalid URL format", password) && strings.Contains(err.Error(), password) {
				t.Errorf("the password is in the message: %v", err)
			}
		}
		if config, err := msdsn.Parse(dsn); err == nil && strings.LastIndex(after, "@") == 0 && config.Password != password {
			t.Errorf("password %q is read as %q", password, config.Password)
		}
	})
}
