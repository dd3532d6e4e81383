package plan

// Busy is work of ppscript's own that goes on as long as the run: something
// for a profiler to see.
type Busy struct {
	step
	Work func(stop <-chan struct{})
}

// Input implements Report.
func (*Busy) Input() Stream { return &Merge{} }

func (w *Busy) build(b *builder) error {
	b.plan.add(w)
	return nil
}

func (w *Busy) instantiate(*Instance) Running { return running{} }
