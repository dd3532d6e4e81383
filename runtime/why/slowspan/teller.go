package slowspan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/why"
)

// keptGaps bounds the times of losses that are known.
const keptGaps = 256

// A teller has an Explainer. Of a recording that gets each event as it comes, and knows
// them when a span ends: the histories of spans overlap.
type teller struct {
	story *Story
	x     *why.Explainer
	begun bool
	gaps  []why.Gap
}

// explainer is the Explainer, made when it is needed first.
func (t *teller) explainer() *why.Explainer {
	if t.x == nil {
		t.x = why.New(t.story.Facts)
	}
	return t.x
}

// add gives it an event.
//
// Fast path: this runs for every event of a recording.
func (t *teller) add(e *event.Event) {
	if !t.begun {
		t.begun = true
		t.explainer().Reset(e.Time)
	}
	t.x.Add(e)
}

// tell has a span explained by the events that it was given.
func (t *teller) tell(span why.Span) (explained *result.WhySpan) {
	t.story.work(func() { explained = t.explainer().ExplainAdded(span) })
	return explained
}

// lost notes a loss; the end of one that is not over is not known.
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
