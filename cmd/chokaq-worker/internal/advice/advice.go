// Package advice computes what a grace period does, from how long handlers have run.
//
// A stop comes at a moment that has nothing to do with the jobs. Whatever runs then is more often a long job than a short one: a handler of duration D is met
// in proportion to D, at a moment spread evenly over its run. So the probability that one which runs has still more than g to go is
//
//	p(g) = E[max(D - g, 0)] / E[D]
//
// The number of handlers of a type that a worker runs at a moment is L on average: the time that handlers have run, over the time and the workers that it was spread
// over (Little's law). Taken as Poisson, those that a grace period of g cuts short are Poisson too, with mean L p(g), and a stop leaves nothing for review
// with probability exp(-L p(g)), over all types exp(-sum). By the same argument a stop has ended after t < g with probability exp(-sum L p(t)).
package advice

import (
	"math"
	"sort"
	"time"
)

// Histogram is how long the handlers of one queue and job type have run.
type Histogram struct {
	Queue, JobType string
	Buckets        []Bucket
}

// Bucket counts durations from Low up to High.
type Bucket struct {
	Low, High time.Duration
	Jobs      int64
	Total     time.Duration // the sum of their durations
}

// BucketOf is a bucket as chokaq.GetHandlerDurations numbers them: b holds 2^(b/4) to 2^((b+1)/4) milliseconds, -1 what is below a millisecond.
func BucketOf(number int, jobs, totalMs int64) Bucket {
	edge := func(n int) time.Duration { return time.Duration(math.Exp2(float64(n)/4) * float64(time.Millisecond)) }
	b := Bucket{Low: edge(number), High: edge(number + 1), Jobs: jobs, Total: time.Duration(totalMs) * time.Millisecond}
	if number < 0 {
		// Such jobs have no duration that could be measured: half a millisecond each.
		b.Low, b.High, b.Total = 0, time.Millisecond, time.Duration(jobs)*time.Millisecond/2
	}
	return b
}

// Jobs is how many durations there are.
func (h Histogram) Jobs() (n int64) {
	for _, b := range h.Buckets {
		n += b.Jobs
	}
	return n
}

// Total is the sum of the durations, in seconds.
func (h Histogram) Total() (seconds float64) {
	for _, b := range h.Buckets {
		seconds += b.Total.Seconds()
	}
	return seconds
}

// Longest bounds the longest duration.
func (h Histogram) Longest() (longest time.Duration) {
	for _, b := range h.Buckets {
		if b.Jobs > 0 {
			longest = max(longest, b.High)
		}
	}
	return longest
}

// Longer is how many of the durations were certainly longer than g: what is said of the time beyond g rests on them.
func (h Histogram) Longer(g time.Duration) (n int64) {
	for _, b := range h.Buckets {
		if b.Low >= g {
			n += b.Jobs
		}
	}
	return n
}

// Outlasts is p(g): the probability that a handler which runs at a random moment has still more than g to go.
func (h Histogram) Outlasts(g time.Duration) float64 {
	total := h.Total()
	if total == 0 {
		return 0
	}
	beyond := 0.0
	for _, b := range h.Buckets {
		if b.Jobs == 0 {
			continue
		}
		mean := b.Total.Seconds() / float64(b.Jobs)
		low, high, at := b.Low.Seconds(), b.High.Seconds(), g.Seconds()
		switch {
		case at <= low:
			beyond += float64(b.Jobs) * math.Max(mean-at, 0)
		case at < high: // spread evenly within the bucket
			beyond += float64(b.Jobs) * (high - at) * (high - at) / (2 * (high - low))
		}
	}
	return math.Min(beyond/total, 1)
}

// Load is a type with how many of its handlers a worker runs at a moment, on average.
type Load struct {
	Histogram
	Running float64
}

// Spread divides what ran within a window among the workers that were there.
func Spread(all []Histogram, window time.Duration, workers float64) []Load {
	loads := make([]Load, len(all))
	for i, h := range all {
		loads[i] = Load{h, h.Total() / window.Seconds() / workers}
	}
	return loads
}

// Full is a worker all of whose handlers run, in the proportion of the types' time.
func Full(all []Histogram, handlers int) []Load {
	total := 0.0
	for _, h := range all {
		total += h.Total()
	}
	loads := make([]Load, len(all))
	for i, h := range all {
		loads[i] = Load{h, float64(handlers) * h.Total() / total}
	}
	return loads
}

// Effect is what a grace period does.
type Effect struct {
	GracePeriod time.Duration
	// LeftPerStop is the expected number of jobs that a stop cuts short.
	LeftPerStop float64
	// StopsLeavingWork is the share of stops that cut at least one job short.
	StopsLeavingWork float64
	// P50 and P99 of the time until the last handler has returned or is canceled.
	P50, P99 time.Duration
}

// Of computes the effect of a grace period.
func Of(loads []Load, g time.Duration) Effect {
	left := cutShort(loads, g)
	return Effect{GracePeriod: g, LeftPerStop: left, StopsLeavingWork: -math.Expm1(-left), P50: lasts(loads, g, 0.5), P99: lasts(loads, g, 0.99)}
}

func cutShort(loads []Load, g time.Duration) (n float64) {
	for _, l := range loads {
		n += l.Running * l.Outlasts(g)
	}
	return n
}

// lasts is the time within which a share of the stops has ended.
func lasts(loads []Load, g time.Duration, share float64) time.Duration {
	const resolution = time.Millisecond
	n := sort.Search(int(g/resolution), func(n int) bool { return math.Exp(-cutShort(loads, time.Duration(n)*resolution)) >= share })
	return min(time.Duration(n)*resolution, g)
}

// Smallest is the smallest grace period, in whole seconds up to most, with which at most a share of the stops cuts work short. ok is false when there is none.
func Smallest(loads []Load, share float64, most time.Duration) (g time.Duration, ok bool) {
	seconds := int(most / time.Second)
	n := sort.Search(seconds, func(n int) bool { return -math.Expm1(-cutShort(loads, time.Duration(n+1)*time.Second)) <= share })
	return time.Duration(n+1) * time.Second, n < seconds
}
