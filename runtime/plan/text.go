package plan

import (
	"context"

	"ppscript/runtime/result"
)

// Text is a report that shows a fixed text and needs no events.
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

// answer is the delivery of a Text.
type answer struct {
	NoDelivery
	host Host
	text string
}

func (t *Text) deliver(h Host) Delivery { return answer{host: h, text: t.Text} }

func (*Text) ofOneMachine() (what, why string) { return "", "" }

func (a answer) Begin(context.Context, Running) error {
	return a.host.Show(result.TextOf(a.text + "\n"))
}

func (t *Text) instantiate(*Instance) Running { return running{} }
