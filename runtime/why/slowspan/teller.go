package slowspan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/why"
)

// keptGaps bounds the number of losses that are kept.
const keptGaps = 256

// A teller has an Explainer. Without Config.Keep, each event is added to it
// immediately, since the histories of spans overlap.
type teller struct {
	story *Story
	x     *why.Explainer
	begun bool
	gaps  []why.Gap
}

// explainer returns the Explainer, and makes it when it is first needed.
func (t *teller) explainer() *why.Explainer {
	if t.x == nil {
		t.x = why.New(t.story.Facts)
	}
	return t.x
}

// add adds an event to the Explainer.
//
// Fast path: this runs for every event of a recording.
func (t *teller) add(e *event.Event) {
	if !t.begun {
		t.begun = true
		t.explainer().Reset(e.Time)
	}
	t.x.Add(e)
}

// tell explains a span from the added events.
func (t *teller) tell(span why.Span) (explained *result.WhySpan) {
	t.story.work(func() { explained = t.explainer().ExplainAdded(span) })
	return explained
}

// lost adds a loss. If to is before from, the loss has not ended yet. give
// passes it to the Explainer immediately.
func (t *teller) lost(from, to event.Time, give bool) {
	g := why.Gap{CPU: -1, From: from, To: to}
	if to < from {
		g.To = event.MaxTime
	}
	if give {
		t.explainer().Lost(g)
		return
	}
	if len(t.gaps) == keptGaps {
		t.gaps = append(t.gaps[:0], t.gaps[1:]...)
	}
	t.gaps = append(t.gaps, g)
}
