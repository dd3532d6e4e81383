package plan

import "ppscript/runtime/flow"

// This file keeps where evaluations can fail. Each one that fails leaves its
// event out of something, so that each must be in a Loss, once: operators with a
// Loss of their own tell of theirs there, all others are asked by Failed.

// failures are those of an operator.
type failures struct {
	name func() string
	errs *flow.Errors
	own  bool // the operator's own Loss counts them
}

// fails remembers an operator whose functions may fail; its name is asked for
// when they did.
func (b *builder) fails(errs *flow.Errors, own bool, name func() string) {
	b.plan.failures = append(b.plan.failures, failures{name, errs, own})
}

// Errors calls fn for each operator whose functions ever failed, with its name.
func (p *Plan) Errors(fn func(where string, errs *flow.Errors)) {
	for _, f := range p.failures {
		if f.errs.First != nil {
			fn(f.name(), f.errs)
		}
	}
}

// Failed is how many evaluations failed since the start that no operator's own
// Loss counts: conditions, what is printed, rows of databases, heat maps.
func (p *Plan) Failed() uint64 {
	n := uint64(0)
	for _, f := range p.failures {
		if !f.own {
			n += f.errs.N
		}
	}
	return n
}

// absorbFailures takes those that a copy of the plan counted.
func (p *Plan) absorbFailures(o *Plan) {
	for i, f := range o.failures {
		if mine := p.failures[i]; !f.own {
			mine.errs.Absorb(f.errs)
		}
	}
}
