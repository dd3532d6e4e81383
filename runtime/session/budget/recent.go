package budget

import (
	"fmt"
	"time"

	"ppscript/runtime/system/kernel"
)

// This file keeps the cost of a run in each window of five seconds, including its begin and end,
// since the budget is promised for every window. If a window exceeds it, a message says by how
// much.

// costWindow holds the recent cost of a run, and the highest cost of a window.
type costWindow struct {
	marks []mark
	most  float64 // CPUs, of any window
}

// A mark is a time and the cost of the run up to it, ns of CPU time.
type mark struct {
	at   time.Time
	cost float64
}

// grain is the precision of the ends of windows.
const grain = 100 * time.Millisecond

// add adds the cost since the last call.
func (r *costWindow) add(now time.Time, ns float64) {
	n := len(r.marks)
	if n == 0 {
		r.marks = append(r.marks, mark{at: now})
		n = 1
	}
	m := mark{now, r.marks[n-1].cost + ns}
	if n > 1 && now.Sub(r.marks[n-2].at) < grain {
		r.marks[n-1] = m
	} else {
		r.marks = append(r.marks, m)
	}
	for len(r.marks) > 2 && now.Sub(r.marks[1].at) >= window {
		r.marks = r.marks[1:]
	}
	first := r.marks[0]
	r.most = max(r.most, (m.cost-first.cost)/float64(max(now.Sub(first.at), window)))
}

// excess is the tolerance by which a window may exceed the budget, since decisions come a
// little late.
const excess = 1.2

// Beginning returns a message if the run's begin and end cost more than the budget allows; else "".
func (g *Governor) Beginning() string {
	if g == nil || g.begin.afforded {
		return ""
	}
	allowed := time.Duration(g.share * float64(g.cpus) * float64(window))
	return fmt.Sprintf("--budget: the begin of this run took %s of CPU time, and its end may take %s: "+
		"of the %s that %.3g%% of the CPUs are in %g s too little is left to observe, so that more is "+
		"spent",
		ms(g.begin.took), ms(g.begin.ends), ms(allowed), 100*g.share, window.Seconds())
}

// Ended returns a message if some window cost more than the budget allows; else "". It is called
// after the results have been shown.
func (g *Governor) Ended() string {
	if g == nil {
		return ""
	}
	own := kernel.CPUTime()
	g.recent.add(time.Now(), float64(own-g.last.own))
	g.last.own = own
	most := g.recent.most / float64(g.cpus)
	if most <= excess*g.share {
		return ""
	}
	return fmt.Sprintf("--budget: %g s of this run cost %.3g%% of the CPUs, more than %.3g%%: its begin "+
		"took %s of CPU time, its end with the results %s", window.Seconds(), 100*most, 100*g.share,
		ms(g.begin.took), ms(own-g.begin.stopped))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.3g ms", float64(d)/float64(time.Millisecond)) }
