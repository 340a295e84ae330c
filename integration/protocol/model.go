package protocol

// The largest model that a state has room for.
const (
	maxWorkers = 2
	maxJobs    = 3
	maxClaims  = 2
)

// model is the protocol at a size, perhaps with a guard taken out.
type model struct {
	workers, jobs int
	claims        int   // that a worker makes in its life, each under a token of its own and repeated until it is answered
	decisions     int   // how often somebody may decide that a job runs again: an operator's requeue, or an interrupted handler that is safe to retry
	without       guard // of the mutants; everything is guarded by default
}

// place is where a job is in the database.
type place uint8

const (
	pending place = iota
	fetched
	processing
	archived
	dead // zombie or interrupted: it waits for an operator
)

// token is 0 for none, else 1 + worker*maxClaims + number of the claim.
type token uint8

func tokenOf(worker int, claim uint8) token { return token(1 + worker*maxClaims + int(claim)) }
func (t token) worker() int                 { return int(t-1) / maxClaims }
func (t token) claim() int                  { return int(t-1) % maxClaims }

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
	retried          // likewise, and it is safe to retry
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
	jobs  jobSet // of a claim: those that it takes if they are pending; of start, complete, fail and retry: the one that it names
}

type kind uint8

const (
	none kind = iota
	claim
	start
	complete
	fail
	retry
	drain
	release
)

// jobSet is a set of jobs, a bit each.
type jobSet uint8

func only(j int) jobSet         { return 1 << j }
func (s jobSet) has(j int) bool { return s>>j&1 == 1 }

// worker is a worker process: what it remembers.
type worker struct {
	life     life
	claims   uint8 // made so far
	unheard  bool  // the last one has not been answered: it is repeated under its token, and no other is made
	memory   [maxJobs]phase
	tokens   [maxJobs]token
	drained  bool // the database has said that it knows of the draining
	released bool // the release of the shutdown has been answered
	clean    bool // it ended believing that it left nothing
}

// state is everything. It is comparable, so that states can be counted.
type state struct {
	rows    [maxJobs]row
	fenced  [maxWorkers]bool // chokaq.Workers says draining: no more claims
	runs    [maxJobs]uint8   // how often a handler began since somebody last decided that it may
	decided [maxJobs]uint8   // how often somebody decided that it runs again
	workers [maxWorkers]worker
	late    request // one that its worker waits for no longer, and that may still arrive; one at a time keeps the model small
}
