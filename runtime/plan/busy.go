package plan

// Busy makes ppscript use CPU time as long as the run lasts, so that a profiler
// has something to show.
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
