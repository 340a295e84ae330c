package config

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/microsoft/go-mssqldb/msdsn"
)

const dsnForm = "sqlserver://user:password@host:1433?database=name"

// badParameter matches what go-mssqldb says of a parameter that it knows, up to the value.
var badParameter = regexp.MustCompile(`^invalid (encrypt|trust server certificate|packet size|connection timeout|dial timeout|keepAlive|failover port|disableRetry|guid conversion|multiSubnetFailover|tcp port|log parameter|timezone)( value)? '`)

// CheckDSN says what is wrong with the data source name, and never repeats it: it has a password in it.
func (c Connection) CheckDSN() error {
	s := settingsOf(&c)[0]
	if c.DSN == "" && c.DSNFile != "" {
		return nil // Load has said what is wrong with the file
	}
	if c.DSN == "" {
		return fmt.Errorf("%s: is not set; accepted: %s", s, dsnForm)
	}
	parsed, err := msdsn.Parse(c.DSN)
	switch {
	case err != nil && badParameter.MatchString(err.Error()):
		return fmt.Errorf("%s: the value of %q in it is not accepted, see the documentation of go-mssqldb; accepted: %s, and parameters such as &encrypt=true&TrustServerCertificate=true", s,
			badParameter.FindStringSubmatch(err.Error())[1], dsnForm)
	case err != nil: // its text may repeat the whole name
		return fmt.Errorf("%s: cannot be parsed (is every special character of the password percent-encoded?); accepted: %s", s, dsnForm)
	case parsed.Database == "":
		return fmt.Errorf("%s: names no database; accepted: %s", s, dsnForm)
	}
	return nil
}

// readDSNFile takes the data source name from its file, unless the flag --dsn has overridden it.
func (c *Connection) readDSNFile(overridden bool) error {
	if c.DSNFile == "" || overridden {
		return nil
	}
	s := settingsOf(c)
	if c.DSN != "" {
		return fmt.Errorf("%s: %s is set, too; accepted: one of the two", s[1], s[0])
	}
	text, err := os.ReadFile(c.DSNFile)
	if err != nil {
		return fmt.Errorf("%s: %w; accepted: a file that holds %s", s[1], err, dsnForm)
	}
	c.DSN = strings.TrimSpace(string(text))
	if c.DSN == "" {
		return fmt.Errorf("%s: %s is empty; accepted: a file that holds %s", s[1], c.DSNFile, dsnForm)
	}
	return nil
}

// Target names the server and database without the password, for messages.
func (c Connection) Target() string {
	parsed, err := msdsn.Parse(c.DSN)
	if err != nil {
		return "the database"
	}
	server := parsed.Host
	if parsed.Instance != "" {
		server += `\` + parsed.Instance
	} else if parsed.Port != 0 {
		server = fmt.Sprintf("%s:%d", server, parsed.Port)
	}
	return fmt.Sprintf("database %q on %s", parsed.Database, server)
}

// Faults joins faults into one error that lists them, or is nil.
func Faults(faults []error) error {
	if len(faults) == 0 {
		return nil
	}
	return &FaultsError{faults}
}

// FaultsError lists every fault of a configuration.
type FaultsError struct{ Faults []error }

func (e *FaultsError) Error() string {
	text := "invalid configuration, nothing was started:"
	for _, fault := range e.Faults {
		text += "\n  " + fault.Error()
	}
	return text
}

// Unwrap gives the faults to errors.Is.
func (e *FaultsError) Unwrap() error { return errors.Join(e.Faults...) }
