package probe

func (r *Resolver) breakpoint(s Spec) ([]*Probe, error) { return nil, nil }
