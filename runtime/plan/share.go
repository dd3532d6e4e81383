package plan

// Shareable reports that several copies of the plan may each see a part of the
// rings and be added up: nothing in it depends on the order of events, nothing is
// shown as it comes, and no script function runs, since the interpreter has one
// thread.
func (p *Plan) Shareable() bool {
	if p.Order || p.Comm || p.Watch || len(p.Operators) == 0 || len(p.Interpreted) > 0 || p.HasStacks || p.Mappings {
		return false
	}
	for _, op := range p.Operators {
		if !op.mergeable() {
			return false
		}
	}
	return true
}

// Absorb adds what a copy of the plan counted to p, and empties the copy.
func (p *Plan) Absorb(o *Plan) {
	for i, op := range p.Operators {
		op.absorb(o.Operators[i])
	}
	p.absorbFailures(o)
	p.Router.Absorb(o.Router)
}
