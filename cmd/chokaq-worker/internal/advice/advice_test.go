package advice

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// histogram counts durations as the database does.
func histogram(durations []time.Duration) Histogram {
	type sums struct{ jobs, ms int64 }
	buckets := make(map[int]sums)
	for _, d := range durations {
		n := -1
		if ms := d.Milliseconds(); ms >= 1 {
			n = int(math.Floor(4*math.Log2(float64(ms)) + 1e-9))
		}
		s := buckets[n]
		buckets[n] = sums{s.jobs + 1, s.ms + d.Milliseconds()}
	}
	var h Histogram
	for n, s := range buckets {
		h.Buckets = append(h.Buckets, BucketOf(n, s.jobs, s.ms))
	}
	return h
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s is %.4f, want %.4f", what, got, want)
	}
}

func TestClosedForms(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var exponential, constant []time.Duration
	for range 200_000 {
		exponential = append(exponential, time.Duration(r.ExpFloat64()*float64(10*time.Second)))
		constant = append(constant, 20*time.Second)
	}
	for _, g := range []time.Duration{0, time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, 60 * time.Second} {
		// Exponential durations have no memory: exp(-g/mean). Constant ones: (d-g)/d.
		near(t, "exponential, "+g.String(), histogram(exponential).Outlasts(g), math.Exp(-g.Seconds()/10), 0.01)
		near(t, "constant, "+g.String(), histogram(constant).Outlasts(g), math.Max(0, 1-g.Seconds()/20), 0.06) // within a bucket of 19 percent
	}
}

// A worker is stopped at random moments of a simulated life, and what happens is compared with what is computed.
func TestAgainstSimulation(t *testing.T) {
	const seed = 7
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, seed))
	type run struct{ from, to float64 }
	const horizon = 400_000.0 // seconds
	var runs []run
	var durations []time.Duration
	for at := 0.0; at < horizon; at += r.ExpFloat64() * 4 { // every four seconds a job
		d := math.Exp(r.NormFloat64()*1.2+1) + 0.005 // lognormal: many short, a few very long
		runs = append(runs, run{at, at + d})
		durations = append(durations, time.Duration(d*float64(time.Second)))
	}
	loads := Spread([]Histogram{histogram(durations)}, time.Duration(horizon)*time.Second, 1)
	const stops = 20_000
	for _, g := range []time.Duration{time.Second, 5 * time.Second, 15 * time.Second, 40 * time.Second} {
		leaving, left := 0, 0
		var lasted []float64
		next := 0
		for n := range stops {
			at := (float64(n) + r.Float64()) * horizon / stops
			for next < len(runs) && runs[next].to < at-1000 {
				next++
			}
			cut, longest := 0, 0.0
			for i := next; i < len(runs) && runs[i].from <= at; i++ {
				if rest := runs[i].to - at; rest > 0 {
					longest = math.Max(longest, rest)
					if rest > g.Seconds() {
						cut++
					}
				}
			}
			if cut > 0 {
				leaving++
			}
			left += cut
			lasted = append(lasted, math.Min(longest, g.Seconds()))
		}
		e := Of(loads, g)
		near(t, "share of stops leaving work, "+g.String(), e.StopsLeavingWork, float64(leaving)/stops, 0.02)
		near(t, "jobs left per stop, "+g.String(), e.LeftPerStop, float64(left)/stops, 0.03)
		if e.P50 < g {
			near(t, "share that ends within the computed p50, "+g.String(), share(lasted, e.P50.Seconds()), 0.5, 0.03)
		}
		if e.P99 < g {
			near(t, "share that ends within the computed p99, "+g.String(), share(lasted, e.P99.Seconds()), 0.99, 0.01)
		}
	}
}

func share(all []float64, within float64) float64 {
	n := 0
	for _, x := range all {
		if x <= within {
			n++
		}
	}
	return float64(n) / float64(len(all))
}

func TestTheSmallestGracePeriod(t *testing.T) {
	constant := histogram([]time.Duration{20 * time.Second, 20 * time.Second})
	loads := Full([]Histogram{constant}, 4)
	near(t, "running", loads[0].Running, 4, 1e-9)
	g, ok := Smallest(loads, 0.01, 10*time.Minute)
	if !ok || g < 18*time.Second || g > 24*time.Second {
		t.Errorf("%v, %v", g, ok)
	}
	if before := Of(loads, g-time.Second); before.StopsLeavingWork <= 0.01 {
		t.Errorf("a second less would do: %v", before)
	}
	if _, ok := Smallest(loads, 0.01, 5*time.Second); ok {
		t.Error("five seconds are enough for handlers of twenty")
	}
	if e := Of(loads, 5*time.Second); e.P50 != 5*time.Second || e.P99 != 5*time.Second {
		t.Errorf("a full worker stops within the grace period: %v", e)
	}
	if e := Of(nil, time.Second); e.StopsLeavingWork != 0 || e.P99 != 0 {
		t.Errorf("nothing ran: %v", e)
	}
}

func TestLonger(t *testing.T) {
	h := histogram([]time.Duration{time.Second, 3 * time.Second, 3 * time.Second, time.Minute})
	for g, want := range map[time.Duration]int64{0: 4, 2 * time.Second: 3, 10 * time.Second: 1, 2 * time.Minute: 0} {
		if got := h.Longer(g); got != want {
			t.Errorf("longer than %v: %d, want %d", g, got, want)
		}
	}
}
