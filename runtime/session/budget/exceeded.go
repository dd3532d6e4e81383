package budget

import (
	"fmt"
	"time"
)

// This file detects that a budget cannot be kept: events that are off are still attached, and each
// hit has a cost.

// over counts the slots in a row in which hooks alone cost more than the budget, and has the
// time of the first.
type over struct {
	slots int
	since time.Time
}

// hopeless is the number of such slots in a row, and of seconds, after which
// the run ends.
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

// Exceeded returns the reason to end the run if the budget cannot be kept; "" if it
// can.
func (g *Governor) Exceeded() string {
	if g == nil || g.over.slots < hopeless || time.Since(g.over.since) < hopeless*time.Second {
		return ""
	}
	return fmt.Sprintf("--budget: the hooks of these events cost %.1f%% of the CPUs even while the events "+
		"are off, more than %.3g%%: the run ends; ask for fewer events, or in a way that programs of the "+
		"kernel can count (ppscript explain)", 100*g.run.idle()/float64(g.cpus), 100*g.share)
}
