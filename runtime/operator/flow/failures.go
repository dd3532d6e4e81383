package flow

// Failures collects the error counters of operators. A failed evaluation leaves an event
// out of some result, so that it must be counted in a Loss, once: operators with a Loss of
// their own count it there, Failed counts it for all others.
type Failures struct{ list []failures }

// failures are the failures of an operator.
type failures struct {
	name string
	errs *Errors
	own  bool // the operator's own Loss counts them
}

// Add adds an operator whose functions may fail; own says that its Loss counts them.
func (x *Failures) Add(name string, errs *Errors, own bool) {
	x.list = append(x.list, failures{name, errs, own})
}

// Errors calls fn for each operator whose functions ever failed, with its name.
func (x *Failures) Errors(fn func(where string, errs *Errors)) {
	for _, f := range x.list {
		if f.errs.First != nil {
			fn(f.name, f.errs)
		}
	}
}

// Failed counts the failed evaluations since the start that no operator's own
// Loss has: of conditions, printed texts, rows of databases, heat maps.
func (x *Failures) Failed() uint64 {
	n := uint64(0)
	for _, f := range x.list {
		if !f.own {
			n += f.errs.N
		}
	}
	return n
}

// Absorb takes the failures that another instance of the same operators counted.
func (x *Failures) Absorb(o *Failures) {
	for i, f := range o.list {
		if mine := x.list[i]; !f.own {
			mine.errs.Absorb(f.errs)
		}
	}
}
