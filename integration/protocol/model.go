package protocol

// Sizes of the model.
const (
	Workers = 2
	Claims  = 1 // claims that a worker makes in its life, each under a token of its own and repeated until it is answered
)

// place is where a job is in the database.
type place uint8

const (
	pending place = iota
	fetched
	processing
	archived
	dead // zombie or interrupted: it waits for an operator
)

// token is 0 for none, else 1 + worker*Claims + number of the claim.
type token uint8

func tokenOf(worker, claim int) token { return token(1 + worker*Claims + claim) }
func (t token) worker() int           { return int(t-1) / Claims }

// row is a job in the database.
type row struct {
	place place
	token token
}

// phase is how far a worker has come with a job in its memory.
type phase uint8

const (
	absent     phase = iota
	prefetched       // claimed, and nothing asked since
	unsure           // its start was sent, and no answer heard
	running          // its handler runs
	finished         // its handler has returned nil
	failed           // its handler returned an error because it was cut short
)

// life is the state of a worker process.
type life uint8

const (
	working  life = iota
	draining      // a stop was asked for: no new claims, no new starts
	stopped       // it has ended by itself
	crashed
)

// request is a call on its way to the database.
type request struct {
	kind  kind
	token token
	job   uint8 // of start, complete, fail
}

type kind uint8

const (
	none kind = iota
	claim
	start
	complete
	fail
	drain
	release
)

// worker is a worker process: what it remembers.
type worker struct {
	life     life
	claims   uint8 // made so far
	unheard  bool  // the last one has not been answered: it is repeated under its token, and no other is made
	memory   [Jobs]phase
	tokens   [Jobs]token
	drained  bool // the database has said that it knows of the draining
	released bool // the release of the shutdown has been answered
	clean    bool // it ended believing that it left nothing
}

// state is everything. It is comparable, so that states can be counted.
type state struct {
	rows    [Jobs]row
	fenced  [Workers]bool // chokaq.Workers says draining: no more claims
	runs    [Jobs]uint8   // how often a handler began, ever
	owed    [Jobs]uint8   // how often somebody decided that it runs again
	workers [Workers]worker
	late    request // one that its worker waits for no longer, and that may still arrive; one at a time keeps the model small
}
