package join

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/flow"
	"ppscript/runtime/key"
)

// This file relates entries and returns that nest, as calls do: each key has a
// stack. A return ends the newest entry of its own function; what was entered
// after that and has not returned lost its return, and is counted. So one
// lost event spoils the calls that it is about, not all that come later.

// A Nested makes pairs of entries and returns. It implements flow.Sink. In the
// Spec, In.Stage is the function and In.Return tells its two streams apart.
type Nested struct {
	spec    Spec
	next    flow.Sink
	tree    *Tree
	rows    *rows // at is the top of each stack
	list    list
	integer bool
	key     int64
	pack    []byte

	out   []*event.Event
	pairs []call
	spent []*waiting

	left    pair
	leftOut [1]*event.Event

	closed event.Time
	losses losses
	now    event.Time
	frame  expr.Frame
	errs   flow.Errors
	stats  Stats
	told   Stats
	failed uint64
}

// The slots of a nested pair behind its key.
const (
	SlotNode = iota + 1 // in the Tree
	SlotDepth
	SlotSelf // ns without the calls inside
	callSlots
)

type call struct {
	ev    event.Event
	joint event.Joint
	slots [callSlots]event.Value
}

// maxDepth bounds a stack: what is deeper is a stream of entries whose returns
// do not come.
const maxDepth = 256

// NewNested returns a Nested that hands its pairs to next.
func NewNested(spec Spec, tree *Tree, next flow.Sink) *Nested {
	n := &Nested{spec: spec, next: next, tree: tree, integer: true, pairs: make([]call, batch)}
	if spec.Limit <= 0 {
		n.spec.Limit = DefaultLimit
	}
	if spec.LimitBytes <= 0 {
		n.spec.LimitBytes = DefaultBytes
	}
	for _, in := range spec.In {
		if in.Stage >= 0 && in.Key != nil {
			n.integer = n.integer && in.Key.Type.Numeric()
		}
	}
	n.rows = newRows(n.integer)
	n.left.frame = new(expr.Frame)
	return n
}

// Events implements flow.Sink.
func (n *Nested) Events(evs []*event.Event) {
	for _, e := range evs {
		in := &n.spec.In[e.Stream.Index]
		if in.Stage < 0 || in.Untraced {
			continue
		}
		if e.Time < n.closed {
			n.stats.InLoss++
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
		n.now = max(n.now, evs[len(evs)-1].Time)
	}
	n.flush()
}

func (n *Nested) find(p *expr.Program) int32 {
	if n.integer {
		n.key = p.Int(&n.frame)
		return n.rows.ints.Find(n.key)
	}
	n.pack = key.Append(n.pack[:0], p, &n.frame)
	return n.rows.texts.Find(n.pack)
}

// enter puts an entry on its stack.
func (n *Nested) enter(row, stage int32, e *event.Event) {
	for n.list.count >= n.spec.Limit || n.list.count > 0 && n.list.bytes >= n.spec.LimitBytes {
		n.evict(n.list.oldest)
	}
	if row < 0 {
		row = n.rows.insert(n.key, n.pack)
	}
	top := n.rows.at[row]
	if top != nil && top.depth >= maxDepth {
		for top != nil {
			n.evict(top)
			top = n.rows.at[row]
		}
	}
	w := n.list.take()
	w.row, w.stage, w.inside, w.below, w.depth = row, stage, 0, top, 0
	parent := int32(0)
	if top != nil {
		parent, w.depth = top.node, top.depth+1
	} else {
		n.rows.empty--
	}
	w.node = n.tree.child(parent, stage)
	n.rows.at[row] = w
	w.keep(e, n.spec.KeepRaw)
	n.list.link(w)
	n.stats.WaitingPeak = max(n.stats.WaitingPeak, n.list.count)
}

// leave ends the newest entry of the function.
func (n *Nested) leave(row, stage int32, e *event.Event) {
	var w *waiting
	if row >= 0 {
		w = n.rows.at[row]
	}
	for w != nil && w.stage != stage {
		w = w.below
	}
	if w == nil {
		n.stats.EndsAlone++
		if n.spec.Left != nil {
			n.leaves(e, Alone, e.Time)
		}
		return
	}
	for top := n.rows.at[row]; top != w; top = n.rows.at[row] {
		n.stats.Cancelled++
		n.pop(top)
		if n.spec.Left != nil {
			n.leaves(&top.ev, Cancelled, e.Time)
		}
		n.list.free(top)
	}
	n.pop(w)
	stream := n.spec.Pairs[w.ev.Stream.Index][e.Stream.Index]
	if stream == nil || w.ev.Time >= e.Time {
		n.stats.Cancelled++
		n.list.free(w)
		return
	}
	took := int64(e.Time - w.ev.Time)
	if w.below != nil {
		w.below.inside += took
	}
	n.stats.Pairs++
	p := &n.pairs[len(n.out)]
	p.ev.Time, p.ev.Stream, p.ev.Joint = e.Time, stream, &p.joint
	p.ev.PID, p.ev.TID, p.ev.CPU, p.ev.Ring = e.PID, e.TID, e.CPU, e.Ring
	p.joint.Start, p.joint.End = &w.ev, e
	if n.spec.NeedKey {
		p.slots[0] = n.spec.In[e.Stream.Index].Key.Value(&n.frame)
	}
	p.slots[SlotNode] = event.IntOf(int64(w.node))
	p.slots[SlotDepth] = event.IntOf(int64(w.depth))
	p.slots[SlotSelf] = event.DurationOf(took - w.inside)
	p.joint.Slots = p.slots[:]
	n.out = append(n.out, &p.ev)
	n.spent = append(n.spent, w)
	if len(n.out) == batch {
		n.flush()
	}
}

// pop takes the top of a stack off.
func (n *Nested) pop(w *waiting) {
	if n.rows.at[w.row] = w.below; w.below == nil {
		n.rows.empty++
	}
	n.list.unlink(w)
}

func (n *Nested) flush() {
	if len(n.out) > 0 {
		n.next.Events(n.out)
		n.out = n.out[:0]
	}
	for _, w := range n.spent {
		n.list.free(w)
	}
	n.spent = n.spent[:0]
}

// Stats returns the counters since the start.
func (n *Nested) Stats() Stats {
	s := n.stats
	s.Waiting, s.Bytes = n.list.count, n.list.bytes
	return s
}

// Loss returns what the pairs since the last call do not contain.
func (n *Nested) Loss() event.Loss {
	l := n.stats.since(&n.told)
	l.Errors = n.errs.N - n.failed
	n.told, n.failed = n.stats, n.errs.N
	return l
}
