package placement

import (
	"slices"
	"strings"

	"ppscript/runtime/plan/graph"
	"ppscript/runtime/text/diag"
)

// This file says how a budget bounds a plan. Programs of the kernel that do all of its work can
// leave events out before anything is done with them. For the rest of the work, events come to
// ppscript in slots of time, between which perf's events are disabled.

// explainBudget says how events are left out to keep the budget.
func (p *Placement) explainBudget(w *strings.Builder) {
	if !p.Bounded {
		return
	}
	what := []string{
		"beyond it, 1 of 2, 4, ... 1024 events counts by chance, which is decided before all else,",
		"then those in slots of time, between which programs are detached; it comes back up",
	}
	switch {
	case p.InSlots:
		what = []string{"beyond it, events come in slots of time, between which they are off",
			"it comes back up as the load falls"}
	case p.relates:
		what[0] = "beyond it, 1 of 2, 4, ... 1024 keys counts, with all of its events, by a hash of the key,"
	}
	list(w, "budget", what)
}

// slot makes events come in slots of time. Programs then do none of the plan's work.
func (p *Placer) slot() error {
	if !p.env.BudgetRules.On || p.replay {
		return nil
	}
	if p.kernel != nil {
		if p.all = p.unrelated(); p.all == "" {
			return nil
		}
		p.kernel = nil
	}
	if p.noSlots = p.env.NoSlots; p.Whole {
		p.noSlots = "somebody must have all events"
	}
	p.out.InSlots = p.noSlots == ""
	return nil
}

// bound notes how a budget bounds the plan. It is an error if it cannot.
func (p *Placer) bound() error {
	if !p.env.BudgetRules.On || p.replay {
		return nil
	}
	if p.overwrite {
		p.out.InSlots, p.noSlots = false, "the last events are wanted"
	}
	p.out.relates = slices.ContainsFunc(p.Nodes, relates)
	p.out.Bounded = true
	switch {
	case p.kernel != nil && p.all == "":
		p.out.OnlyKernel = true // the budget bounds only programs of the kernel
	case !p.out.InSlots:
		no := p.all
		if p.noSlots != "" {
			no += "; " + p.noSlots
		}
		return diag.Errorf(diag.Usage, "option", "--budget", "this run cannot be bounded: %s", no).
			WithHint("leave --budget out, or count or sum up events by key: ppscript explain tells what runs where")
	}
	return nil
}

// Relates reports that something relates events.
func (p *Placement) Relates() bool { return p.relates }

// relates reports that a node is an operator that relates events.
func relates(n *graph.Node) bool {
	return n.Op != nil && (n.Op.Join != nil || n.Op.Fold != nil)
}

// unrelated says why a budget cannot leave out some keys of joins and folds; "" if it can, or if
// there are none. It cannot if one operator takes the output of another by a different key: some
// events of each such key would be missing.
func (p *Placer) unrelated() string {
	for _, n := range p.Nodes {
		switch op := n.Op; {
		case op == nil:
		case op.Join != nil && op.Join.Nested:
			return n.Name + " relates calls by their nesting, of which none may be left out"
		case op.Fold != nil && op.Fold.Flush != nil:
			return n.Name + " flushes its states, whatever their keys"
		}
	}
	for _, e := range p.Edges {
		if relates(e.From) && relates(e.To) {
			return e.To.Name + " relates what " + e.From.Name + " does, by a key of its own"
		}
	}
	return ""
}
