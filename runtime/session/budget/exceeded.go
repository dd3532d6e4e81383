package budget

import (
	"fmt"
	"time"
)

// This file finds out that a budget cannot be kept: events that are off still hang on their hooks, and each
// hit costs something.

// over is how many slots in a row, since when, told that hooks alone cost more than the budget.
type over struct {
	slots int
	since time.Time
}

// hopeless is how many slots in a row must say so, and for how many seconds.
const hopeless = 5

func (o *over) add(is bool, now time.Time) {
	if !is {
		o.slots = 0
		return
	}
	if o.slots++; o.slots == 1 {
		o.since = now
	}
}

// Exceeded says why the run must end, since the budget cannot be kept; "" is no reason.
func (g *Governor) Exceeded() string {
	if g == nil || g.over.slots < hopeless || time.Since(g.over.since) < hopeless*time.Second {
		return ""
	}
	return fmt.Sprintf("--budget: the hooks of these events cost %.1f%% of the CPUs even while the events "+
		"are off, more than %.3g%%: the run ends; ask for fewer events, or in a way that programs of the "+
		"kernel can count (ppscript explain)", 100*g.run.idle()/float64(g.cpus), 100*g.share)
}
