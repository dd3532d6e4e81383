package plan

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/text/diag"
)

// Unpaired is the events of a join that stay without a partner.
type Unpaired struct {
	Of Stream // the pairs
	// Ends leaves out the events that may start a pair, Starts the others.
	// Neither leaves out nothing.
	Starts, Ends bool
	// Waiting also delivers what still waits, whenever an interval ends.
	Waiting bool
	// Lost delivers only those whose partner may be lost.
	Lost bool
}

// Inputs implements Stream.
func (u *Unpaired) Inputs() []Stream { return []Stream{u.Of} }

// A leftRoot is where unpaired events of a join come from: all, or those that
// may be starts, or ends.
type leftRoot struct {
	node  *JoinOp
	at    int    // among those of the join
	wants []bool // by stream
	lost  bool   // only those whose partner may be lost, of which programs have none
}

func (r *leftRoot) emitter(in *Instance) emitter { return in.join(r.node).lefts[r.at] }

// A leftRun is a leftRoot that runs: it takes the events from the join.
type leftRun struct {
	outlet
	join.LeftSieve
}

// makes reports that r is where the pairs, or the unpaired events, of n come
// from.
func (n *JoinOp) makes(r root) bool {
	switch r := r.(type) {
	case *JoinOp:
		return r == n
	case *leftRoot:
		return r.node == n
	case *duringOp:
		return slices.ContainsFunc(r.sides, func(s spanSide) bool { return !s.over && s.root == n })
	}
	return false
}

// leftSink is who takes the unpaired events of a join.
func (j *JoinRun) leftSink() flow.Sink {
	if len(j.lefts) == 1 {
		return j.lefts[0]
	}
	fan := &flow.Fan{}
	for _, r := range j.lefts {
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
		n.js.LeftWaiting = n.js.LeftWaiting || u.Waiting
		r := &leftRoot{node: n, at: len(n.lefts), lost: u.Lost}
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
				made := n.leave(b, br)
				made.root = r
				brs = append(brs, made)
				for len(r.wants) <= made.stream {
					r.wants = append(r.wants, false)
				}
				r.wants[made.stream] = true
			}
		}
		n.lefts = append(n.lefts, r)
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

// leave makes the stream of the unpaired events of a branch.
func (n *JoinOp) leave(b *builder, br branch) branch {
	if made, ok := n.leaves[br.stream]; ok {
		return made
	}
	st := b.madeStream(&event.Schema{System: "unpaired", Name: b.plan.shortLabel(br), Fields: []event.Field{
		{Name: "age", Type: "u64", Place: event.InSlot, Offset: join.SlotAge, Unit: event.Nanos, Size: 8, Signed: true},
		{Name: "reason", Type: "char[]", Kind: event.Str, Place: event.InSlot, Offset: join.SlotReason},
		b.joinKeyField(br.marks.key, join.SlotKey),
	}})
	sc := b.scope(nil, st.Schema)
	sc.Parts = map[string]*event.Schema{"start": br.scope.Schema, "end": {}}
	for name, v := range br.scope.Vars {
		sc.Vars["start."+name] = b.prints.Rebind(v, expr.Start)
	}
	// What a pair has, and an event without a partner has not.
	sc.Vars["end.event"] = expr.NewStr("")
	for len(n.js.Left) < len(n.js.In) {
		n.js.Left = append(n.js.Left, nil)
	}
	n.js.Left[br.stream] = st
	made := branch{stream: st.Index, scope: sc}
	if n.leaves == nil {
		n.leaves = map[int]branch{}
	}
	n.leaves[br.stream] = made
	return made
}
