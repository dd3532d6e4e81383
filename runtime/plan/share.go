package plan

import "slices"

// Shareable reports that several instances of the plan may each see a part of the
// rings and be added up: nothing in it depends on the order of events, nothing is
// shown as it comes, and no script function runs, since the interpreter has one
// thread.
func (p *Plan) Shareable() bool {
	return !p.Order && !p.Comm && !p.Watch && len(p.Operators) > 0 && len(p.Interpreted) == 0 &&
		!p.HasStacks && !p.Mappings &&
		!slices.ContainsFunc(p.Operators, func(op Operator) bool { return !op.mergeable() })
}
