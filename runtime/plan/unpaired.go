package plan

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/text/diag"
)

// Unpaired is the stream of a join's events that stay without a partner.
type Unpaired struct {
	Of Stream // the pairs
	// Ends delivers only events that cannot start a pair, Starts only events
	// that can. Without either, all are delivered.
	Starts, Ends bool
	// Waiting also delivers events that still wait, at the end of each
	// interval.
	Waiting bool
	// Lost delivers only events whose partner may be lost.
	Lost bool
}

// Inputs implements Stream.
func (u *Unpaired) Inputs() []Stream { return []Stream{u.Of} }

// An unpairedRoot is the root of unpaired events of a join: of all, of possible
// starts, or of possible ends.
type unpairedRoot struct {
	node  *JoinOp
	at    int    // its index in JoinOp's list of unpaired roots
	wants []bool // by stream
	lost  bool   // only events whose partner may be lost; programs make no such events
}

func (r *unpairedRoot) graphNode() *graph.Node { return r.node.graphNode() }
func (r *unpairedRoot) inUserSpace() bool      { return true }

func (r *unpairedRoot) emitter(in *Instance) emitter { return in.join(r.node).unpaired[r.at] }

// An unpairedRun is an unpairedRoot that runs: it takes the events from the join.
type unpairedRun struct {
	outlet
	join.LeftSieve
}

// makes reports that r is the root of n's pairs or of its unpaired events.
func (n *JoinOp) makes(r root) bool {
	switch r := r.(type) {
	case *JoinOp:
		return r == n
	case *unpairedRoot:
		return r.node == n
	case *duringOp:
		return slices.ContainsFunc(r.sides, func(s spanSide) bool { return !s.over && s.root == n })
	}
	return false
}

// unpairedSink takes the unpaired events of a join.
func (j *JoinRun) unpairedSink() flow.Sink {
	if len(j.unpaired) == 1 {
		return j.unpaired[0]
	}
	fan := &flow.Fan{}
	for _, r := range j.unpaired {
		fan.Next = append(fan.Next, r)
	}
	return fan
}

func (u *Unpaired) branches(b *builder) ([]branch, error) {
	nodes, err := joinsOf(b, u.Of, "unpaired")
	if err != nil {
		return nil, err
	}
	var brs []branch
	for _, n := range nodes {
		n.js.WithWaiting = n.js.WithWaiting || u.Waiting
		r := &unpairedRoot{node: n, at: len(n.unpaired), lost: u.Lost}
		for i, stage := range n.stages {
			for k, br := range stage {
				starts := i < len(n.stages)-1 || n.spec.Cycle
				ends := i > 0 || n.spec.Cycle
				if n.spec.Nested {
					starts, ends = k == 0, k == 1
				}
				if u.Starts && !u.Ends && !starts || u.Ends && !u.Starts && !ends {
					continue
				}
				made := n.unpairedStream(b, br)
				made.root = r
				brs = append(brs, made)
				for len(r.wants) <= made.stream {
					r.wants = append(r.wants, false)
				}
				r.wants[made.stream] = true
			}
		}
		n.unpaired = append(n.unpaired, r)
	}
	return brs, nil
}

// joinsOf finds the joins that the pairs of s come from.
func joinsOf(b *builder, s Stream, who string) ([]*JoinOp, error) {
	brs, err := b.branchesOf(s)
	if err != nil {
		return nil, err
	}
	var nodes []*JoinOp
	seen := map[*JoinOp]bool{}
	for _, br := range brs {
		n, ok := br.root.(*JoinOp)
		if !ok {
			return nil, diag.Errorf(diag.Run, who, "", "the stream has events that are not pairs").
				WithHint("join two stages first: join([start], [end], key = ...)")
		}
		if !seen[n] {
			seen[n] = true
			nodes = append(nodes, n)
		}
	}
	return nodes, nil
}

// unpairedStream makes the stream of the unpaired events of a branch.
func (n *JoinOp) unpairedStream(b *builder, br branch) branch {
	if made, ok := n.unpairedStreams[br.stream]; ok {
		return made
	}
	st := b.madeStream(&event.Schema{System: "unpaired", Name: b.plan.shortLabel(br), Fields: []event.Field{
		{Name: "age", Type: "u64", Place: event.InSlot, Offset: join.SlotAge, Unit: event.Nanos, Size: 8, Signed: true},
		{Name: "reason", Type: "char[]", Kind: event.Str, Place: event.InSlot, Offset: join.SlotReason},
		b.joinKeyField(br.marks.key, join.SlotKey),
	}})
	sc := b.scope(nil, st.Schema)
	sc.TakeParts("start", br.scope)
	sc.Parts["end"] = &event.Schema{}
	for name, v := range br.scope.Vars {
		sc.Vars["start."+name] = b.prints.Rebind(v, expr.Start)
	}
	// Names that pairs have are empty for an event without a partner.
	sc.Vars["end.event"] = expr.NewStr("")
	for len(n.js.Streams) < len(n.js.In) {
		n.js.Streams = append(n.js.Streams, nil)
	}
	n.js.Streams[br.stream] = st
	made := branch{stream: st.Index, scope: sc}
	if n.unpairedStreams == nil {
		n.unpairedStreams = map[int]branch{}
	}
	n.unpairedStreams[br.stream] = made
	return made
}
