package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sethvargo/go-envconfig"
	"github.com/spf13/pflag"

	"github.com/chokaq/chokaq/driver"
)

// Load fills target, which points to a settings structure, from environ ("NAME=value") and from the flags over it. It
// returns every fault that it finds; target then holds what could be read. An empty variable counts as one that is not set.
func Load(environ []string, flags *pflag.FlagSet, target any) []error {
	variables := make(map[string]string)
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, Prefix) {
			variables[name] = value
		}
	}
	faults := unknownVariables(variables)
	for _, s := range settingsOf(target) {
		text, given := fromFlag(flags, s)
		if !given {
			text = variables[s.variable()]
			if text == "" {
				continue
			}
		}
		if err := s.decode(text); err != nil {
			faults = append(faults, err)
		}
	}
	if c, ok := target.(interface{ readDSNFile(overridden bool) error }); ok {
		_, overridden := fromFlag(flags, settingsOf(&Connection{})[0])
		if err := c.readDSNFile(overridden); err != nil {
			faults = append(faults, err)
		}
	}
	return faults
}

// decode lets go-envconfig read one value: alone, because it stops at its first error.
func (s setting) decode(text string) error {
	one := reflect.New(reflect.StructOf([]reflect.StructField{{Name: s.field.Name, Type: s.field.Type, Tag: s.field.Tag}}))
	err := envconfig.ProcessWith(context.Background(), &envconfig.Config{
		Target: one.Interface(), Lookuper: envconfig.MapLookuper(map[string]string{s.name: text}),
	})
	if err != nil {
		if s.secret() {
			return fmt.Errorf("%s: cannot be read; accepted: %s", s, s.form())
		}
		return fmt.Errorf("%s: %q is not accepted%s; accepted: %s", s, text, s.confusion(text), s.form())
	}
	value := one.Elem().Field(0)
	switch v := value.Interface().(type) {
	case time.Duration:
		if v == 0 {
			return fmt.Errorf("%s: %q is not accepted; accepted: %s, above zero (leave it out for the default)", s, text, s.form())
		}
	case int:
		if v == 0 {
			return fmt.Errorf("%s: %q is not accepted; accepted: %s, above zero (leave it out for the default)", s, text, s.form())
		}
	}
	s.value.Set(value)
	return nil
}

// confusion helps those who take one setting for another.
func (s setting) confusion(text string) string {
	if s.name == "HANDLERS" && strings.Contains(text, "=") {
		return " (it is the number of handler slots; programs are named by " + Prefix + "HANDLER, --handler)"
	}
	return ""
}

// Translate puts the names of variables and flags in the place of field names of driver.WorkerConfig at the beginning of
// the faults in err, an ErrConfig of the driver.
func Translate(err error) []error {
	var faults []error
	for _, fault := range leaves(err) {
		if errors.Is(fault, driver.ErrConfig) && fault.Error() == driver.ErrConfig.Error() {
			continue
		}
		faults = append(faults, translate(fault))
	}
	return faults
}

func translate(fault error) error {
	text := fault.Error()
	end := strings.IndexAny(text, ": ")
	if end < 0 {
		return fault
	}
	for _, s := range settingsOf(&driver.WorkerConfig{}) {
		if s.field.Name == text[:end] {
			return fmt.Errorf("%s%s", s, text[end:])
		}
	}
	return fault
}

// leaves takes joined errors apart.
func leaves(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, leaves(e)...)
		}
		return all
	}
	return []error{err}
}

// unknownVariables are those with the prefix that nothing reads: most likely misspelled.
func unknownVariables(variables map[string]string) []error {
	var known []string
	for _, s := range settingsOf(&Worker{}) {
		known = append(known, s.variable())
	}
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if slices.Contains(known, name) || foreign(name) {
			continue
		}
		faults = append(faults, fmt.Errorf("%s: there is no such setting%s", name, suggestion(name, known)))
	}
	return faults
}

func suggestion(name string, known []string) string {
	if nearest := Nearest(name, known); nearest != "" {
		return "; did you mean " + nearest + "?"
	}
	return "; chokaq-worker run --help lists them"
}
