package bpf

import (
	"slices"

	"ppscript/bpf/hook"
	"ppscript/runtime/expr"
)

// This file finds predicates that are cheaper than the check of the event's task.
// Predicates on numbers of the event itself come first, so that rejected events cost next
// to nothing. They cannot fail, so that the order does not change results. With a sampling
// period, only the event's own filter comes first, since other predicates are about the
// sampled events.

// early splits the cheap predicates off e, and returns them and the event
// without them.
func early(e *source) (preds []expr.Node, rest *source) {
	ev := *e.Event
	c := &source{Event: &ev, feeds: e.feeds, stacked: e.stacked, serves: e.serves}
	if c.Filter != nil {
		if !hook.Plain(c.Filter) {
			return nil, e
		}
		preds, c.Filter = append(preds, c.Filter), nil
	}
	if len(c.feeds) == 1 && c.Period < 2 {
		c.feeds = slices.Clone(c.feeds)
		f := &c.feeds[0]
		for len(f.preds) > 0 && hook.Plain(f.preds[0]) {
			preds, f.preds = append(preds, f.preds[0]), f.preds[1:]
		}
	}
	return preds, c
}
