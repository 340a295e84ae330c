// Package handlerfile reads the YAML file that names what runs the jobs of each type: programs and HTTP endpoints. It reports every fault
// at once, each with its line.
package handlerfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"
	"go.yaml.in/yaml/v3"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/config"
	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/jobtype"
	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/program"
	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/webhook"
)

// maxSize bounds the file.
const maxSize = 1 << 20

// DefaultHTTPTimeout is the timeout of an HTTP handler that names none: a server that never answers must not hold a slot for ever.
const DefaultHTTPTimeout = time.Minute

// Handler is what runs the jobs of a type: Program or Target is set.
type Handler struct {
	JobType string // jobtype.Any: every type that has no handler of its own
	jobtype.Settings
	Line    int
	Program *program.Spec
	Target  *webhook.Target
}

// Read reads a file. lookup finds the environment variables that header values name.
func Read(name string, lookup func(string) (string, bool)) ([]Handler, []error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, []error{err}
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	switch {
	case err != nil:
		return nil, []error{err}
	case len(text) > maxSize:
		return nil, []error{fmt.Errorf("%s: is longer than %d MiB", name, maxSize>>20)}
	}
	handlers, faults := Parse(text, lookup)
	for i, fault := range faults {
		faults[i] = fmt.Errorf("%s: %w", name, fault)
	}
	return handlers, faults
}

// Parse reads the text of a file.
func Parse(text []byte, lookup func(string) (string, bool)) ([]Handler, []error) {
	p := &parser{lookup: lookup}
	p.document(text)
	slices.SortStableFunc(p.faults, func(a, b fault) int { return cmp.Compare(a.line, b.line) })
	var faults []error
	for _, f := range p.faults {
		faults = append(faults, f.err)
	}
	return p.handlers, faults
}

type fault struct {
	line int
	err  error
}

type parser struct {
	lookup   func(string) (string, bool)
	handlers []Handler
	faults   []fault
}

func (p *parser) fault(at *yaml.Node, format string, args ...any) {
	p.faults = append(p.faults, fault{at.Line, fmt.Errorf("line %d: "+format, append([]any{at.Line}, args...)...)})
}

func (p *parser) document(text []byte) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) {
		p.faults = append(p.faults, fault{1, errors.New(`is empty; accepted: a field "handlers", with a field for each job type`)})
		return
	}
	if err != nil {
		p.faults = append(p.faults, fault{1, fmt.Errorf("is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))})
		return
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		p.faults = append(p.faults, fault{1, errors.New("has more than one YAML document")})
		return
	}
	root := document.Content[0]
	found := false
	p.fields(root, "", map[string]func(key, value *yaml.Node){"handlers": func(key, value *yaml.Node) {
		found = true
		p.pairs(value, "handlers", func(key, value *yaml.Node) { p.handler(key, value) })
		if value.Kind == yaml.MappingNode && len(value.Content) == 0 {
			p.fault(key, "handlers: there is none")
		}
	}})
	if !found && root.Kind == yaml.MappingNode {
		p.fault(root, `there is no field "handlers"`)
	}
}

// pairs visits the fields of a mapping. Aliases and merges are refused: what a line says should be all that is so.
func (p *parser) pairs(node *yaml.Node, path string, visit func(key, value *yaml.Node)) {
	what := path
	if what == "" {
		what = "the file"
	}
	if node.Kind != yaml.MappingNode {
		p.fault(node, "%s: must be a mapping, NAME: VALUE", what)
		return
	}
	lines := make(map[string]int)
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode || key.Tag == "!!merge":
			p.fault(key, "%s: the name of a field must be plain text; merges are not supported", what)
		case value.Kind == yaml.AliasNode:
			p.fault(value, "%s: aliases are not supported", join(path, key.Value))
		case lines[key.Value] > 0:
			p.fault(key, "%s: is there already, in line %d", join(path, key.Value), lines[key.Value])
		default:
			lines[key.Value] = key.Line
			visit(key, value)
		}
	}
}

// fields visits the fields of a mapping by name, and refuses those that there are not.
func (p *parser) fields(node *yaml.Node, path string, known map[string]func(key, value *yaml.Node)) {
	p.pairs(node, path, func(key, value *yaml.Node) {
		if visit := known[key.Value]; visit != nil {
			visit(key, value)
			return
		}
		var names []string
		for name := range known {
			names = append(names, name)
		}
		slices.Sort(names)
		if nearest := config.Nearest(key.Value, names); nearest != "" {
			p.fault(key, "there is no field %q; did you mean %q?", join(path, key.Value), nearest)
		} else {
			p.fault(key, "there is no field %q; there are %s", join(path, key.Value), strings.Join(names, ", "))
		}
	})
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// text is the value of a field that is one.
func (p *parser) text(path string, value *yaml.Node) (string, bool) {
	if value.Kind != yaml.ScalarNode || value.Tag == "!!null" || value.Value == "" {
		p.fault(value, "%s: must be text, and not empty", path)
		return "", false
	}
	return value.Value, true
}

// handler reads one job type.
func (p *parser) handler(key, value *yaml.Node) {
	h := Handler{JobType: key.Value, Line: key.Line}
	path := key.Value
	if h.JobType != jobtype.Any {
		if err := jobtype.CheckName(h.JobType); err != nil {
			p.fault(key, "handlers: %v", err)
			path = "this handler"
		}
	}
	reject := p.handlerFields(&h, path, value)
	if value.Kind != yaml.MappingNode {
		return
	}
	switch {
	case h.Program != nil && h.Target != nil:
		p.fault(key, "%s: has both a program and http; accepted: one of them", path)
	case reject != nil && h.Target != nil:
		p.fault(reject, "%s: is for programs; http answers decide by their status", join(path, "reject"))
	case h.Program == nil && h.Target == nil:
		p.fault(key, "%s: names nothing to run; accepted: program, or http with a url", path)
	case h.Target != nil && h.Timeout == 0:
		h.Timeout = DefaultHTTPTimeout
	}
	if h.Program != nil {
		if reject != nil {
			if text, ok := p.text(join(path, "reject"), reject); ok {
				if err := h.Program.SetRejectStatus(text); err != nil {
					p.fault(reject, "%s: %v", join(path, "reject"), err)
				}
			}
		}
		h.Program.JobType, h.Program.Settings = h.JobType, h.Settings
	}
	p.handlers = append(p.handlers, h)
}

// handlerFields reads what a job type has. Program and Target are set where the file has them, even with faults. It returns the node of "reject", which counts
// only together with a program.
func (p *parser) handlerFields(h *Handler, path string, value *yaml.Node) (reject *yaml.Node) {
	p.fields(value, path, map[string]func(key, value *yaml.Node){
		"program": func(_, value *yaml.Node) { h.Program = p.program(join(path, "program"), value) },
		"http":    func(key, value *yaml.Node) { h.Target = p.target(join(path, "http"), key, value) },
		"reject":  func(_, value *yaml.Node) { reject = value },
		"timeout": func(_, value *yaml.Node) { h.Timeout = scalar(p, join(path, "timeout"), value, jobtype.ParseDuration) },
		"max-attempts": func(_, value *yaml.Node) {
			h.MaxAttempts = scalar(p, join(path, "max-attempts"), value, jobtype.ParseMaxAttempts)
		},
		"concurrency": func(_, value *yaml.Node) {
			h.Concurrency = scalar(p, join(path, "concurrency"), value, jobtype.ParseConcurrency)
		},
		"backoff":       func(_, value *yaml.Node) { h.Backoff = p.backoff(join(path, "backoff"), value) },
		"safe-to-retry": func(_, value *yaml.Node) { h.SafeToRetry = scalar(p, join(path, "safe-to-retry"), value, parseBool) },
	})
	return reject
}

// scalar reads a field of one value.
func scalar[T any](p *parser, path string, value *yaml.Node, parse func(string) (T, error)) T {
	var zero T
	text, ok := p.text(path, value)
	if !ok {
		return zero
	}
	v, err := parse(text)
	if err != nil {
		p.fault(value, "%s: %v", path, err)
		return zero
	}
	return v
}

func parseBool(text string) (bool, error) {
	switch text {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%q is not true or false", text)
}

// backoff is a fixed wait, or bounds.
func (p *parser) backoff(path string, value *yaml.Node) (b jobtype.Backoff) {
	before := len(p.faults)
	given := make(map[string]bool)
	duration := func(name string, into *time.Duration) func(key, value *yaml.Node) {
		return func(_, value *yaml.Node) {
			given[name] = true
			*into = scalar(p, join(path, name), value, jobtype.ParseDuration)
		}
	}
	p.fields(value, path, map[string]func(key, value *yaml.Node){
		"initial": duration("initial", &b.Initial), "max": duration("max", &b.Max), "fixed": duration("fixed", &b.Fixed),
	})
	if len(p.faults) > before {
		return jobtype.Backoff{}
	}
	exponential := given["initial"] && given["max"] && !given["fixed"]
	fixed := given["fixed"] && !given["initial"] && !given["max"]
	if !exponential && !fixed {
		p.fault(value, "%s: accepted: initial and max, or fixed", path)
		return jobtype.Backoff{}
	}
	if err := b.Check(); err != nil {
		p.fault(value, "%s: %v", path, err)
	}
	return b
}

// program reads a command, as a line or a list of words.
func (p *parser) program(path string, value *yaml.Node) *program.Spec {
	spec := &program.Spec{}
	var args []string
	if value.Kind == yaml.SequenceNode {
		for _, word := range value.Content {
			if word.Kind != yaml.ScalarNode || word.Tag == "!!null" {
				p.fault(word, "%s: every word must be text", path)
				return spec
			}
			args = append(args, word.Value)
		}
	} else {
		text, ok := p.text(path, value)
		if !ok {
			return spec
		}
		var err error
		if args, err = shellquote.Split(text); err != nil {
			p.fault(value, "%s: a quote or backslash is not ended", path)
			return spec
		}
	}
	if len(args) == 0 || args[0] == "" {
		p.fault(value, "%s: there is no program", path)
		return spec
	}
	if err := spec.SetArgs(args); err != nil {
		p.fault(value, "%s: %v", path, err)
	}
	return spec
}

// target reads an HTTP endpoint.
func (p *parser) target(path string, key, value *yaml.Node) *webhook.Target {
	target := &webhook.Target{}
	var headers *yaml.Node
	found := false
	p.fields(value, path, map[string]func(key, value *yaml.Node){
		"url": func(_, value *yaml.Node) {
			found = true
			text, ok := p.text(join(path, "url"), value)
			if !ok {
				return
			}
			parsed, err := webhook.ParseURL(text)
			if err != nil {
				p.fault(value, "%s: %v", join(path, "url"), err)
				return
			}
			target = parsed
		},
		"headers": func(_, value *yaml.Node) { headers = value },
	})
	if !found && value.Kind == yaml.MappingNode {
		p.fault(key, "%s: there is no field url", path)
	}
	if headers == nil {
		return target
	}
	p.pairs(headers, join(path, "headers"), func(key, value *yaml.Node) {
		text, ok := p.text(join(path, "headers."+key.Value), value)
		if !ok {
			return
		}
		if err := target.SetHeader(key.Value, text, p.lookup); err != nil {
			for line := range strings.Lines(err.Error()) {
				p.fault(value, "%s: %s", join(path, "headers"), strings.TrimSpace(line))
			}
		}
	})
	return target
}
