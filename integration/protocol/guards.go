package protocol

// guard is one that a mutant of the protocol does without.
type guard string

const (
	claimFence          guard = "ClaimJobs does not look whether its worker is draining"
	startToken          guard = "StartJobs starts a Fetched job under any token"
	startState          guard = "StartJobs does not look at the state"
	alreadyStartedToken guard = "StartJobs says AlreadyStarted to any token"
	completeToken       guard = "CompleteJobs does not compare tokens"
	failToken           guard = "FailJobs does not compare tokens"
	releaseState        guard = "ReleaseJobs does not look at the state"
	rescueState         guard = "ResetFetchedJobs does not look at the state"
	resetting           guard = "ResetFetchedJobs does not run"
	rescuing            guard = "RescueZombieJobs does not run"
	requeueState        guard = "RequeueDeadJobs takes archived jobs"
	startHeard          guard = "a worker runs a handler before its start was answered"
	handlerRuns         guard = "a draining worker completes what it has started, and runs no handler"
	completionRepeated  guard = "a worker runs a handler again when its completion was not answered"
	releaseHeard        guard = "a worker reports a clean stop though its release was not answered"
)
