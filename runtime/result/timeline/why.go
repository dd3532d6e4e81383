package timeline

import (
	"cmp"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/plain"
	"ppscript/runtime/why/story"
)

// This file shows explained spans: the span and its causes below its thread. If the thread waited
// for another thread, the other thread's activity is shown below that thread, with a flow from the
// wait to it.

// causes is the name of the tracks of causes below a thread.
const causes = "why"

// Why makes the items of explained spans, which may be older than the latest
// events.
func (b *Builder) Why(spans []*result.WhySpan) {
	spans = slices.Clone(spans)
	slices.SortStableFunc(spans, func(x, y *result.WhySpan) int { return cmp.Compare(x.From, y.From) })
	for _, s := range spans {
		b.why(s)
	}
}

func (b *Builder) why(s *result.WhySpan) {
	it := &b.item
	*it = Item{Kind: Slice, Time: s.From, End: s.To, Name: string(plain.Append(nil, story.Title(s)))}
	it.Track = b.tracks.below(b.threadOf(&s.Task), "slow", it, -1)
	b.write()
	lines := story.Lines(s, 0)
	flows := []uint64{0} // by depth: the flow from a line to the first line below it
	for i := range lines {
		l := &lines[i]
		*it = Item{Kind: Slice, Time: s.From + event.Time(l.At)}
		it.Name = string(plain.Append(nil, story.Phrase(l.Link)))
		it.End = it.Time + event.Time(l.NS)
		it.Stack, it.EndStack = l.Link.Stack, l.Link.WakerStack
		it.Follows, flows = flows[l.Depth], flows[:l.Depth+1]
		flows[l.Depth] = 0 // a flow leads only to the first line
		if next := i + 1; next < len(lines) && lines[next].Depth > l.Depth {
			b.wakes.last++
			it.Leads = b.wakes.last
		}
		flows = append(flows, it.Leads)
		it.Track = b.tracks.below(b.threadOf(&l.Link.Task), causes, it, -1)
		b.write()
	}
}

// threadOf returns the track of a thread that an explained span names.
func (b *Builder) threadOf(t *result.WhyTask) *Track {
	if t.TID <= 0 {
		return b.tracks.group(causes)
	}
	if known := b.tracks.threads[t.TID]; known != nil {
		return known
	}
	pid := t.PID
	if pid <= 0 { // the explanation has no process
		known := false
		if pid, known = b.tracks.pids[t.TID]; !known {
			pid = -1
		}
	}
	return b.tracks.thread(pid, t.TID, -1, t.Comm)
}
