// Package fault injects the failures that a client of SQL Server must survive: errors,
// broken connections before and after the work was done, answers that are late or
// never come, logins that are refused.
//
// A test adds rules to an Injector, and the server asks it at every login and request.
package fault

import (
	"context"
	"strings"
	"sync"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// Event is a login, or a request that is about to run.
type Event struct {
	Login     bool
	Procedure string // of an RPC, as the client named it; empty for a batch
	Text      string // of a batch, or the statement that sp_executesql was given
	App       string
	Database  string // that the login asked for
	User      string
}

// Faults is what the server asks. A nil Action means to go on.
type Faults interface {
	// Login is asked before a login is looked at.
	Login(Event) *Action
	// Request is asked once a request has arrived. before happens in its stead, or, when
	// it only holds, ahead of it; after happens when it has run, and committed what it
	// committed, but nothing of its answer has been sent.
	Request(Event) (before, after *Action)
}

// When says at which side of the execution a rule strikes.
type When int

const (
	// Before: the request does not run, unless it is only held up.
	Before When = iota
	// After: it has run, and the client does not know.
	After
)

// Rule says what to do to which requests. Empty fields of the match match anything.
type Rule struct {
	// Procedure matches an RPC of that procedure, with or without schema, and a batch or
	// sp_executesql whose text names it.
	Procedure string
	// Text matches a batch or the text of sp_executesql that contains it, ignoring case.
	Text string
	// App matches the application name.
	App string
	// Match, when not nil, has the last word.
	Match func(Event) bool
	// Logins makes the rule one about logins; it is not about requests then.
	Logins bool

	// Nth strikes from the nth match on, counted from 1; 0 is 1.
	Nth int
	// Times strikes so many times in a row; 0 is for as long as the rule is there.
	Times int

	When When
	// What to do, one of: answer with Error, Drop the connection, or go silent.
	// None of them only makes sense with Hold.
	Error  *value.Error
	Drop   bool
	Silent bool // a black hole: the connection stays open and never answers
	// Hold makes the request (Before) or its answer (After) wait for Release, then does
	// whatever else the rule says.
	Hold bool
}

// Refuse is the rule that fails a procedure (or any request, for the empty name) with an error number, in words of its own.
func Refuse(procedure string, number int32, message string) Rule {
	return Rule{Procedure: procedure, Error: value.NewError(number, classOf(number), 1, "%s", message)}
}

// classOf is the severity that SQL Server gives to well-known errors.
func classOf(number int32) uint8 {
	switch number {
	case 1205:
		return 13
	case 4060:
		return 11
	case 18456:
		return 14
	case 40613, 40197, 40501:
		return 20
	}
	return 16
}

// Logins that fail as they do while a database fails over.
var (
	// CannotOpenDatabase is error 4060.
	CannotOpenDatabase = value.NewError(4060, 11, 1, "Cannot open database \"chokaq\" requested by the login. The login failed.")
	// LoginFailed is error 18456; on the wire, state 1 hides the state 38 that the server logs.
	LoginFailed = value.NewError(18456, 14, 38, "Login failed for user 'sa'.")
	// DatabaseUnavailable is error 40613.
	DatabaseUnavailable = value.NewError(40613, 17, 1, "Database 'chokaq' on server 'sqlsim' is not currently available. Please retry the connection later.")
)

// Action is what a rule does to one event.
type Action struct {
	Error  *value.Error
	Drop   bool
	Silent bool
	hold   *Active
}

// Wait returns when the rule's Hold is released, at once without one, or with ctx's error.
func (a *Action) Wait(ctx context.Context) error {
	if a == nil || a.hold == nil {
		return nil
	}
	return a.hold.wait(ctx)
}

// Injector keeps rules. It is safe for concurrent use; its zero value has no rules.
type Injector struct {
	mu    sync.Mutex
	rules []*Active
	total int
}

// New makes an Injector without rules.
func New() *Injector { return &Injector{} }

// Active is a rule that is in force.
type Active struct {
	in       *Injector
	rule     Rule
	seen     int // matches
	struck   int
	held     int // waiting for Release now
	released chan struct{}
	changed  chan struct{} // closed and replaced when held or struck changes
}

// Add puts a rule in force. Of several rules that match, the one added first and not yet used up strikes.
func (in *Injector) Add(r Rule) *Active {
	in.mu.Lock()
	defer in.mu.Unlock()
	a := &Active{in: in, rule: r, released: make(chan struct{}), changed: make(chan struct{})}
	in.rules = append(in.rules, a)
	return a
}

// Clear removes all rules and releases what they hold.
func (in *Injector) Clear() {
	in.mu.Lock()
	rules := in.rules
	in.rules = nil
	in.mu.Unlock()
	for _, a := range rules {
		a.Release()
	}
}

// Injected is the number of faults so far, of all rules.
func (in *Injector) Injected() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.total
}

// Login implements Faults.
func (in *Injector) Login(e Event) *Action {
	e.Login = true
	return in.strike(e, Before)
}

// Request implements Faults.
func (in *Injector) Request(e Event) (before, after *Action) {
	return in.strike(e, Before), in.strike(e, After)
}

func (in *Injector) strike(e Event, when When) *Action {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, a := range in.rules {
		if a.rule.When != when || !a.rule.matches(e) {
			continue
		}
		a.seen++
		if a.seen < max(a.rule.Nth, 1) || a.rule.Times > 0 && a.struck >= a.rule.Times {
			continue
		}
		a.struck++
		in.total++
		a.notify()
		action := &Action{Error: a.rule.Error, Drop: a.rule.Drop, Silent: a.rule.Silent}
		if a.rule.Hold {
			action.hold = a
		}
		return action
	}
	return nil
}

func (r Rule) matches(e Event) bool {
	return r.Logins == e.Login &&
		(r.App == "" || r.App == e.App) &&
		(r.Text == "" || containsFold(e.Text, r.Text)) &&
		(r.Procedure == "" || sameProcedure(e.Procedure, r.Procedure) || namesProcedure(e.Text, r.Procedure)) &&
		(r.Match == nil || r.Match(e))
}

func containsFold(s, sub string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(sub))
}

var unquote = strings.NewReplacer("[", "", "]", "", "\"", "")

// sameProcedure compares names from the right, as far as both go: ClaimJobs is [chokaq].[ClaimJobs].
func sameProcedure(a, b string) bool {
	if a == "" {
		return false
	}
	x, y := strings.Split(unquote.Replace(a), "."), strings.Split(unquote.Replace(b), ".")
	for i := 1; i <= min(len(x), len(y)); i++ {
		if !strings.EqualFold(x[len(x)-i], y[len(y)-i]) {
			return false
		}
	}
	return true
}

// namesProcedure looks for the name as a whole word.
func namesProcedure(text, name string) bool {
	text, name = strings.ToLower(unquote.Replace(text)), strings.ToLower(unquote.Replace(name))
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(name)
		if (start == 0 || !wordByte(text[start-1])) && (end == len(text) || !wordByte(text[end])) {
			return true
		}
		from = start + 1
	}
}

func wordByte(c byte) bool {
	return c == '_' || c == '@' || c == '#' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 0x80
}

// notify wakes those who wait for a change; in.mu is held.
func (a *Active) notify() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// Count is the number of times the rule has struck.
func (a *Active) Count() int {
	a.in.mu.Lock()
	defer a.in.mu.Unlock()
	return a.struck
}

// Remove takes the rule out of force and releases what it holds.
func (a *Active) Remove() {
	a.in.mu.Lock()
	for i, r := range a.in.rules {
		if r == a {
			a.in.rules = append(a.in.rules[:i:i], a.in.rules[i+1:]...)
			break
		}
	}
	a.in.mu.Unlock()
	a.Release()
}

// Release lets everything go that the rule holds, now and from now on.
func (a *Active) Release() {
	a.in.mu.Lock()
	defer a.in.mu.Unlock()
	select {
	case <-a.released:
	default:
		close(a.released)
	}
}

// WaitStruck returns when the rule has struck n times.
func (a *Active) WaitStruck(ctx context.Context, n int) error {
	return a.await(ctx, func() bool { return a.struck >= n })
}

// WaitHeld returns when the rule holds n requests.
func (a *Active) WaitHeld(ctx context.Context, n int) error {
	return a.await(ctx, func() bool { return a.held >= n })
}

func (a *Active) await(ctx context.Context, done func() bool) error {
	for {
		a.in.mu.Lock()
		ok, changed := done(), a.changed
		a.in.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (a *Active) wait(ctx context.Context) error {
	a.hold(1)
	defer a.hold(-1)
	select {
	case <-a.released:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *Active) hold(n int) {
	a.in.mu.Lock()
	defer a.in.mu.Unlock()
	a.held += n
	a.notify()
}
