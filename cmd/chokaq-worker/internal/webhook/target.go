// Package webhook runs an HTTP request for each job: payload as the body, the job's facts in headers, the outcome in the status.
package webhook

import (
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Target is where the jobs of a type are sent.
type Target struct {
	url     *url.URL
	header  http.Header
	secrets []string // that must not appear in what is stored or logged
}

// ParseURL makes a target. The text of the error does not repeat the URL where that may hold a secret.
func ParseURL(text string) (*Target, error) {
	const form = "accepted: https://host/path, or http://host:port/path"
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the URL cannot be parsed; %s", form)
	case u.User != nil:
		return nil, errors.New("the URL has a user or password in it, which would be a secret in a file: send an Authorization header with a value from the environment")
	case strings.Contains(text, "${"):
		return nil, errors.New("the URL holds ${...}: values from the environment are for headers only")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Hostname() == "":
		return nil, fmt.Errorf("%q is not a URL of HTTP; %s", text, form)
	case u.Fragment != "":
		return nil, fmt.Errorf("the URL has a fragment, which is never sent; %s", form)
	}
	return &Target{url: u, header: make(http.Header)}, nil
}

// Name is the URL without its query.
func (t *Target) Name() string {
	u := *t.url
	u.RawQuery, u.ForceQuery = "", false
	return u.String()
}

// HeaderNames lists the headers of the file, without their values.
func (t *Target) HeaderNames() []string {
	var names []string
	for name := range t.header {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// reserved headers are set by this package or by the protocol.
var reserved = []string{"Connection", "Content-Length", "Host", "Idempotency-Key", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "X-Idempotency-Key", "Traceparent", "Tracestate"}

var reference = regexp.MustCompile(`\$\{([^}]*)\}`)

var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// SetHeader adds a header to every request. ${NAME} in the value stands for an environment variable, which lookup finds; "$" alone stands for itself. No error
// repeats a value.
func (t *Target) SetHeader(name, value string, lookup func(string) (string, bool)) error {
	canonical := textproto.CanonicalMIMEHeaderKey(name)
	switch {
	case !headerName.MatchString(name):
		return fmt.Errorf("header %q: this is not the name of a header", name)
	case slices.Contains(reserved, canonical), strings.HasPrefix(canonical, "Chokaq-"):
		return fmt.Errorf("header %q: this one is set by chokaq-worker or by HTTP itself", name)
	case t.header[canonical] != nil:
		return fmt.Errorf("header %q: is there twice", name)
	}
	var faults []error
	expanded := reference.ReplaceAllStringFunc(value, func(text string) string {
		variable := text[2 : len(text)-1]
		switch {
		case !variableName.MatchString(variable):
			faults = append(faults, fmt.Errorf("header %q: ${%s} does not name an environment variable", name, variable))
			return ""
		case strings.HasPrefix(variable, "CHOKAQ_"):
			faults = append(faults, fmt.Errorf("header %q: ${%s}: the worker's own settings are not sent; take a variable of another name", name, variable))
			return ""
		}
		secret, ok := lookup(variable)
		if !ok || secret == "" {
			faults = append(faults, fmt.Errorf("header %q: the environment variable %s is not set, or empty", name, variable))
			return ""
		}
		t.secrets = append(t.secrets, secret)
		return secret
	})
	if strings.Contains(reference.ReplaceAllString(value, ""), "${") {
		faults = append(faults, fmt.Errorf(`header %q: "${" has no "}"`, name))
	}
	if len(faults) == 0 && strings.ContainsFunc(expanded, isControl) {
		faults = append(faults, fmt.Errorf("header %q: the value has a line end or another control character in it", name))
	}
	if t.header == nil {
		t.header = make(http.Header)
	}
	t.header[canonical] = []string{expanded}
	// The longest first, so that a secret within another one does not leave half of it.
	slices.SortFunc(t.secrets, func(a, b string) int { return len(b) - len(a) })
	return errors.Join(faults...)
}

// longestSecret is the length of the longest secret.
func (t *Target) longestSecret() int {
	if len(t.secrets) == 0 {
		return 0
	}
	return len(t.secrets[0])
}

// redacted stands where a secret was.
const redacted = "[secret]"

// secretAt is the secret that a text begins with, the longest if there are several.
func (t *Target) secretAt(text string) string {
	for _, secret := range t.secrets {
		if strings.HasPrefix(text, secret) {
			return secret
		}
	}
	return ""
}

// redact takes the secrets out of a text.
func (t *Target) redact(text string) string {
	for _, secret := range t.secrets {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	return text
}
