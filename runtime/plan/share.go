package plan

// Shareable reports that several copies of the plan may each see a part of the
// rings and their tables be added up: nothing in it depends on the order of
// events, nothing is shown as it comes, and no script function runs, since the
// interpreter has one thread.
func (p *Plan) Shareable() bool {
	if p.Order || p.Comm || p.Watch || len(p.Tables) == 0 || len(p.Interpreted) > 0 || p.HasStacks || p.Mappings {
		return false
	}
	if len(p.Joins)+len(p.Folds)+len(p.Slows)+len(p.Stacks)+len(p.Triggers)+len(p.Logs)+len(p.Eachs)+len(p.Heats)+len(p.Databases)+len(p.Execs)+len(p.Counts)+len(p.Records) > 0 {
		return false
	}
	for _, t := range p.Tables {
		if !t.spec.Mergeable() || t.Tree != nil {
			return false
		}
	}
	return true
}

// Absorb adds what a copy of the plan counted to p, and empties the copy.
func (p *Plan) Absorb(o *Plan) {
	for i, t := range p.Tables {
		t.Group.Merge(o.Tables[i].Group)
		o.Tables[i].Group.Reset()
	}
	p.absorbFailures(o)
	p.Router.Absorb(o.Router)
}
