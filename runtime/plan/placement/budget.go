package placement

import (
	"slices"
	"strings"

	"ppscript/runtime/text/diag"
)

// This file says how a budget bounds a plan. Programs of the kernel that do all of its work can leave
// events out before anything is done with them. Of what they cannot do, or not for a part of the keys,
// events come to ppscript in slots of time, between which perf is told to have none.

// explainBudget says what is done beyond a budget.
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

// inSlots decides that events come in slots of time: programs do nothing of the plan's work then.
func (p *Placer) inSlots() bool {
	if !p.env.Weighed.On || p.replay {
		return false
	}
	if p.kernel != nil {
		if p.all = p.unrelated(); p.all == "" {
			return false
		}
		p.kernel = nil
	}
	if p.noSlots = p.env.NoSlots; p.Whole {
		p.noSlots = "somebody must have all events"
	}
	p.out.InSlots = p.noSlots == ""
	return p.out.InSlots
}

// bound notes how a budget bounds the plan. It is an error if it cannot.
func (p *Placer) bound(overwrite bool) error {
	if !p.env.Weighed.On || p.replay {
		return nil
	}
	if overwrite {
		p.out.InSlots, p.noSlots = false, "the last events are wanted"
	}
	p.out.relates = slices.ContainsFunc(p.Operators, relates)
	p.out.Bounded = true
	switch {
	case p.kernel != nil && p.all == "":
		p.out.OnlyKernel = true // it would cost what it likes elsewhere
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

// relates reports that an operator relates events.
func relates(op *Operator) bool { return op.Join != nil || op.Fold != nil || op.Pairs != nil }

// unrelated is why keys cannot be left out, whose events operators relate; "" if they can, or there are
// none. What one operator relates another one can not relate by keys of its own: those of the one
// are not whole there.
func (p *Placer) unrelated() string {
	for _, op := range p.Operators {
		switch {
		case op.Pairs != nil && op.Pairs.Nested:
			return op.Name + " relates calls by their nesting, of which none may be left out"
		case op.Fold != nil && op.Fold.Flush != nil:
			return op.Name + " flushes its states, whatever their keys"
		}
	}
	for _, e := range p.Edges {
		from, to := p.nodes[e.From].op, p.nodes[e.To].op
		if from != nil && to != nil && relates(from) && relates(to) {
			return to.Name + " relates what " + from.Name + " does, by a key of its own"
		}
	}
	return ""
}
