package join

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/key"
)

// This file relates entries and returns that nest, as calls do: each key has a
// stack. A return ends the newest entry of its own function; entries above it
// lost their returns, and are counted. So one lost event spoils only its own
// calls, not all later ones.

// A Nested makes pairs of entries and returns. It implements flow.Sink. In the
// Spec, In.Stage is the function and In.Return tells its two streams apart.
type Nested struct {
	spec    Spec
	next    flow.Sink
	tree    *Tree
	rows    *rows // by row: the newest entry of a stack
	list    list
	entries []entry // by the number of the waiting event
	key     keyAtHand

	matches  matchBatch[call]
	unpaired single
	clock    clock
	endings

	frame expr.Frame
	errs  flow.Errors
	tally tally
}

// The slots of a nested pair behind its key.
const (
	SlotNode = iota + 1 // the node in the Tree
	SlotDepth
	SlotSelf // time of the call without inner calls, ns
	callSlots
)

type call struct {
	ev      event.Event
	start   event.Event
	derived event.Derived
	slots   [callSlots]event.Value
}

// An entry is a function that was entered and has not returned.
type entry struct {
	below  int32 // the call that waits below it in its stack
	stage  int32
	node   int32 // of the Tree
	depth  int32
	inside int64 // how long calls inside it took
}

// MaxDepth bounds a stack. A deeper stack has entries whose returns are not
// observed.
const MaxDepth = 256

// NewNested returns a Nested that hands its pairs to next.
func NewNested(spec Spec, tree *Tree, next flow.Sink) *Nested {
	n := &Nested{spec: spec, next: next, tree: tree}
	n.key.integer, n.matches.pairs = spec.integer(), make([]call, batch)
	if spec.Limit <= 0 {
		n.spec.Limit = defaultLimit
	}
	if spec.LimitBytes <= 0 {
		n.spec.LimitBytes = defaultBytes
	}
	n.rows = newRows(n.key.integer)
	if n.key.integer {
		n.endings.follow(&n.spec, n.forget)
	}
	n.list = newList(spec.KeepRaw, &spec.Bounds)
	n.list.opens = spec.Opens
	n.unpaired.pair.frame = new(expr.Frame)
	return n
}

// Events implements flow.Sink.
func (n *Nested) Events(evs []*event.Event) {
	for _, e := range evs {
		in := &n.spec.In[e.Stream.Index]
		traced := in.Stage >= 0 && !in.Untraced
		if t := n.spec.Timeline; t != nil && (traced || in.Untraced && (n.list.count > 0 || !t.idle())) {
			t.add(e)
		}
		if !traced {
			continue
		}
		if e.Time < n.clock.closed {
			n.tally.stats.InLoss++
			continue
		}
		n.frame.Reset(e)
		enters, returns := !in.Return, in.Return
		if in.Role != nil {
			role := in.Role.Int(&n.frame)
			enters, returns = enters && role&1 != 0, returns && role&2 != 0
		}
		row := n.find(in.Key)
		if n.frame.Err != nil {
			n.errs.Note(&n.frame)
			continue
		}
		switch {
		case enters:
			n.enter(row, int32(in.Stage), e)
		case returns:
			n.leave(row, int32(in.Stage), e)
		}
		if n.rows.empty > sweepAt && n.rows.empty > max(n.list.count, len(n.rows.at)/4) {
			n.rows.sweep()
		}
	}
	if len(evs) > 0 {
		n.clock.now = max(n.clock.now, evs[len(evs)-1].Time)
	}
	n.flush()
	n.endings.due(n.clock.now)
	if t := n.spec.Timeline; t != nil {
		t.due(t.newest)
		t.release(n.list.since())
	}
}

func (n *Nested) find(p *expr.Program) int32 {
	if n.key.integer {
		n.key.num = p.Int(&n.frame)
		return n.rows.ints.Find(n.key.num)
	}
	n.key.pack = key.Append(n.key.pack[:0], p, &n.frame)
	return n.rows.texts.Find(n.key.pack)
}

// enter puts an entry on its stack.
func (n *Nested) enter(row, stage int32, e *event.Event) {
	for n.list.crowded(&n.spec.Bounds) {
		n.evict(n.list.oldest())
	}
	if row < 0 {
		row = n.rows.insert(n.key.num, n.key.pack)
	}
	top := n.rows.at[row]
	if top != nobody && n.entries[top].depth+1 >= MaxDepth {
		for top != nobody {
			n.evict(top)
			top = n.rows.at[row]
		}
	}
	w := n.list.take()
	for int(w) >= len(n.entries) {
		n.entries = append(n.entries, entry{})
	}
	c := &n.entries[w]
	*c = entry{below: top, stage: stage}
	parent := int32(0)
	if top != nobody {
		parent, c.depth = n.entries[top].node, n.entries[top].depth+1
	} else {
		n.rows.empty--
	}
	c.node = n.tree.child(parent, stage)
	n.rows.at[row] = w
	n.list.put(w, row, e)
	n.list.opened(w, e)
	n.tally.stats.WaitingPeak = max(n.tally.stats.WaitingPeak, n.list.count)
}

// leave ends the newest entry of the function.
func (n *Nested) leave(row, stage int32, e *event.Event) {
	w := int32(nobody)
	if row >= 0 {
		w = n.rows.at[row]
	}
	for w != nobody && n.entries[w].stage != stage {
		w = n.entries[w].below
	}
	if w == nobody {
		n.tally.stats.EndsAlone++
		n.list.alone(e)
		if n.spec.Streams != nil {
			n.leaves(e, Alone, e.Time)
		}
		return
	}
	for top := n.rows.at[row]; top != w; top = n.rows.at[row] {
		n.tally.stats.Cancelled++
		n.pop(top)
		if n.spec.Streams != nil {
			n.leaves(n.list.event(top, &n.matches.gone), Cancelled, e.Time)
		}
		n.list.free(top)
	}
	n.pop(w)
	start, c := &n.list.at[w], &n.entries[w]
	stream := n.spec.Pairs[start.stream][e.Stream.Index]
	if stream == nil || start.time >= e.Time {
		n.tally.stats.Cancelled++
		n.list.free(w)
		return
	}
	took := int64(e.Time - start.time)
	if c.below != nobody {
		n.entries[c.below].inside += took
	}
	n.tally.stats.Pairs++
	p := &n.matches.pairs[len(n.matches.out)]
	p.ev.Time, p.ev.Stream, p.ev.Derived = e.Time, stream, &p.derived
	p.ev.PID, p.ev.TID, p.ev.CPU, p.ev.Ring = e.PID, e.TID, e.CPU, e.Ring
	p.derived.Start, p.derived.End = n.list.event(w, &p.start), e
	if n.spec.NeedKey {
		p.slots[0] = n.spec.In[e.Stream.Index].Key.Value(&n.frame)
	}
	p.slots[SlotNode] = event.IntOf(int64(c.node))
	p.slots[SlotDepth] = event.IntOf(int64(c.depth))
	p.slots[SlotSelf] = event.DurationOf(took - c.inside)
	p.derived.Slots = p.slots[:]
	n.matches.out = append(n.matches.out, &p.ev)
	n.matches.spent = append(n.matches.spent, w)
	if len(n.matches.out) == batch {
		n.flush()
	}
}

// pop removes the newest entry of a stack.
func (n *Nested) pop(w int32) {
	row, below := n.list.at[w].row, n.entries[w].below
	if n.rows.at[row] = below; below == nobody {
		n.rows.empty++
	}
	n.list.unlink(w)
}

func (n *Nested) flush() {
	if len(n.matches.out) > 0 {
		n.next.Events(n.matches.out)
		n.matches.out = n.matches.out[:0]
	}
	n.list.free(n.matches.spent...)
	n.matches.spent = n.matches.spent[:0]
}

// Stats returns the counters since the start.
func (n *Nested) Stats() Stats {
	s := n.tally.stats
	s.Waiting, s.Bytes = n.list.count, n.list.bytes
	return s
}

// Loss returns the losses of the pairs since the last call.
func (n *Nested) Loss() event.Loss {
	l := n.tally.stats.since(&n.tally.reported)
	l.Errors = n.errs.N - n.tally.failed
	n.tally.reported, n.tally.failed = n.tally.stats, n.errs.N
	return l
}
