package plan

// Text is shown as it is: an answer that needs no events.
type Text struct {
	operator
	Text string
}

// Input implements Report.
func (*Text) Input() Stream { return &Merge{} }

func (t *Text) build(b *builder) error {
	b.plan.add(t)
	return nil
}

func (t *Text) instantiate(*Instance) Running { return running{} }
