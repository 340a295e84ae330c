// Package config reads the settings of chokaq-worker: environment variables CHOKAQ_..., and a flag for each of them that
// overrides it. It reports every fault at once.
package config

import (
	"reflect"
	"strings"
	"time"
)

// Prefix begins the name of every environment variable of chokaq-worker.
const Prefix = "CHOKAQ_"

// setting is one field of a settings structure, known by the env tag that go-envconfig reads.
type setting struct {
	name  string // HEARTBEAT_INTERVAL
	field reflect.StructField
	value reflect.Value
}

func (s setting) variable() string { return Prefix + s.name }

// flag is the flag that overrides the variable: CHOKAQ_HEARTBEAT_INTERVAL and --heartbeat-interval.
func (s setting) flag() string { return strings.ToLower(strings.ReplaceAll(s.name, "_", "-")) }

// String names a setting as people find it.
func (s setting) String() string { return s.variable() + " (--" + s.flag() + ")" }

// secret settings never appear in a message.
func (s setting) secret() bool { return s.field.Tag.Get("secret") == "true" }

func (s setting) help() string {
	if text := s.field.Tag.Get("help"); text != "" {
		return text
	}
	return workerHelp[s.name]
}

// kind is what a flag's help calls the value.
func (s setting) kind() string {
	switch s.value.Interface().(type) {
	case time.Duration:
		return "duration"
	case int:
		return "number"
	case bool:
		return "bool"
	case []string:
		return "list"
	case Lines:
		return "command"
	}
	return "text"
}

// form is what a value must look like.
func (s setting) form() string {
	switch s.value.Interface().(type) {
	case time.Duration:
		return "a Go duration such as 500ms, 30s or 5m"
	case int:
		return "a whole number"
	case bool:
		return "true or false"
	}
	return "text"
}

// settingsOf lists the settings of a pointer to a structure, embedded ones too.
func settingsOf(target any) []setting {
	var all []setting
	var walk func(reflect.Value)
	walk = func(v reflect.Value) {
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.Anonymous {
				walk(v.Field(i))
				continue
			}
			name, _, _ := strings.Cut(field.Tag.Get("env"), ",")
			if name == "" || name == "-" {
				continue
			}
			all = append(all, setting{name, field, v.Field(i)})
		}
	}
	walk(reflect.ValueOf(target).Elem())
	return all
}
