package plan

import "ppscript/runtime/flow"

// This file keeps where evaluations can fail. Each one that fails leaves its
// event out of something, so that each must be in a Loss, once: operators with a
// Loss of their own tell of theirs there, all others are asked by Failed.

// failures are those of an operator.
type failures struct {
	name string
	errs *flow.Errors
	own  bool // the operator's own Loss counts them
}

// fails remembers an operator whose functions may fail; own says that its Loss
// counts them.
func (in *Instance) fails(name string, errs *flow.Errors, own bool) {
	in.failures = append(in.failures, failures{name, errs, own})
}

// Errors calls fn for each operator whose functions ever failed, with its name.
func (in *Instance) Errors(fn func(where string, errs *flow.Errors)) {
	for _, f := range in.failures {
		if f.errs.First != nil {
			fn(f.name, f.errs)
		}
	}
}

// Failed is how many evaluations failed since the start that no operator's own
// Loss counts: conditions, what is printed, rows of databases, heat maps.
func (in *Instance) Failed() uint64 {
	n := uint64(0)
	for _, f := range in.failures {
		if !f.own {
			n += f.errs.N
		}
	}
	return n
}

// absorbFailures takes those that another instance of the plan counted.
func (in *Instance) absorbFailures(o *Instance) {
	for i, f := range o.failures {
		if mine := in.failures[i]; !f.own {
			mine.errs.Absorb(f.errs)
		}
	}
}
