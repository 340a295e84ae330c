package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/microsoft/go-mssqldb/msdsn"
)

// dialDefault is how long go-mssqldb tries to connect when nobody says.
const dialDefault = 15 * time.Second

// WithTimeout is the data source name with bounds, in whole seconds, of how long the server may keep silent within a call, and of how long connecting may
// take; those that it has itself stay. 0 is no bound.
func (c Connection) WithTimeout(silence time.Duration) string {
	parsed, err := msdsn.Parse(c.DSN)
	if err != nil || silence <= 0 {
		return c.DSN
	}
	name := c.DSN
	for _, bound := range []struct {
		parameter string
		wanted    bool
	}{
		{msdsn.ConnectionTimeout, true},
		{msdsn.DialTimeout, silence < dialDefault},
	} {
		if _, has := parsed.Parameters[bound.parameter]; !has && bound.wanted {
			name = withParameter(name, bound.parameter, fmt.Sprint(int64((silence+time.Second-1)/time.Second)))
		}
	}
	return name
}

// withParameter adds a parameter to a name of one of the forms that go-mssqldb knows: a URL, or key=value;key=value.
func withParameter(name, key, value string) string {
	if !strings.HasPrefix(name, "sqlserver://") {
		return strings.TrimRight(name, "; ") + ";" + key + "=" + value
	}
	name, fragment, hasFragment := strings.Cut(name, "#")
	separator := "?"
	if strings.Contains(name, "?") {
		separator = "&"
	}
	name += separator + strings.ReplaceAll(key, " ", "+") + "=" + value
	if hasFragment {
		name += "#" + fragment
	}
	return name
}
