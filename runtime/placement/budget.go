package placement

import (
	"strings"

	"ppscript/runtime/diag"
)

// This file says which plans a budget can bound: those whose work programs of the kernel do, which
// can leave events out before anything is done with them. A plan that cannot be bounded is an
// error, not one that costs what it likes.

// explainBudget says what is done beyond a budget.
func (p *Placement) explainBudget(w *strings.Builder) {
	if p.Bounded {
		list(w, "budget", []string{
			"beyond it, 1 of 2, 4, ... 1024 events counts by chance, which is decided before all else,",
			"then those in slots of time, between which programs are detached; it comes back up",
		})
	}
}

// unbounded is why a budget cannot bound the plan; nil if it can, or there is none.
func (p *Placer) unbounded() error {
	if !p.env.Weighed || p.replay {
		return nil
	}
	no := p.all
	for _, op := range p.Operators {
		if op.Join != nil || op.Fold != nil || op.Pairs != nil {
			no = op.Name + " relates events, of which none may be left out"
			break
		}
	}
	if no == "" {
		p.out.OnlyKernel = true // it would cost what it likes elsewhere
		p.out.Bounded = true
		return nil
	}
	return diag.Errorf(diag.Usage, "option", "--budget", "this run cannot be bounded: %s", no).
		WithHint("leave --budget out, or count or sum up events by key: ppscript explain tells what runs where")
}
