package config

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// rawFlag keeps what a flag was given as text, so that its faults are reported with those of the environment.
type rawFlag struct {
	kind   string
	values []string
}

func (f *rawFlag) Set(text string) error { f.values = append(f.values, text); return nil }
func (f *rawFlag) Type() string          { return f.kind }
func (f *rawFlag) String() string        { return "" }

// text is the value as the environment would have it.
func (f *rawFlag) text() string {
	switch f.kind {
	case "command":
		return strings.Join(f.values, "\n")
	case "list":
		return strings.Join(f.values, ",")
	}
	return f.values[len(f.values)-1]
}

// Bind adds a flag for each setting of target, which points to a settings structure, but for those named.
func Bind(flags *pflag.FlagSet, target any, but ...string) {
	for _, s := range settingsOf(target) {
		if slices.Contains(but, s.flag()) {
			continue
		}
		f := flags.VarPF(&rawFlag{kind: s.kind()}, s.flag(), "", s.help())
		if s.kind() == "bool" {
			f.NoOptDefVal = "true"
		}
	}
}

// fromFlag is the text of a setting's flag, if it was given.
func fromFlag(flags *pflag.FlagSet, s setting) (string, bool) {
	f := flags.Lookup(s.flag())
	if f == nil || !f.Changed {
		return "", false
	}
	raw, ok := f.Value.(*rawFlag)
	return raw.textOrEmpty(), ok
}

func (f *rawFlag) textOrEmpty() string {
	if f == nil {
		return ""
	}
	return f.text()
}

// FlagNames lists the flags of a set, for suggestions.
func FlagNames(flags *pflag.FlagSet) []string {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	slices.Sort(names)
	return names
}
