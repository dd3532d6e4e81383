package placement

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/record/sent"
)

// This file estimates how many bytes pass each edge. Nothing is measured: the
// numbers only have to put the edges of one plan in order, and the great
// differences are known beforehand. A condition on equality leaves little of the
// events, one on a delay leaves outliers, a group leaves nothing that passes with
// each event.

// Bytes that a record has beside its fields.
const (
	perfHead = 48 // of a sample: header, id, time, thread, CPU, size
	sentHead = 32 // of a program's record, and of its buffer
	textWord = 8  // for each text of the process, whose length is not known
)

// unpaired is the share of events that stay without a partner: most have one.
const unpaired = 0.02

// sentBytes is the number of bytes that a program sends along an edge, for each event of the
// sources: records, times the size of head and columns.
func (p *Placer) sentBytes(e *graph.Edge) float64 {
	share := p.passed[e.Stream]
	for _, pred := range e.Preds {
		share *= passing(pred.Prog.Node)
	}
	if e.Bound != nil {
		share *= passing(e.Bound)
	}
	r, size := e.Send, sentHead
	if r.Whole {
		size += p.Streams[e.Stream].Schema.Size
	}
	for _, f := range r.Fields {
		size += f.F.Size
	}
	if r.Stacks {
		size += 2 * sent.StackKey
	}
	if p.Streams[e.Stream].Schema.System == madeByFold { // all of its values
		size += p.bytes[e.Stream]
	}
	if r.FoldContext {
		size += 2 * (sent.MomentSize + p.largest())
	}
	return share * float64(size+textWord*len(r.Texts))
}

// largest is the size in bytes of the largest record of an event.
func (p *Placer) largest() (most int) {
	for _, e := range p.Events {
		most = max(most, e.Schema.Size)
	}
	return most
}

// passing estimates the share of events for which n holds.
func passing(n expr.Node) float64 {
	switch n := n.(type) {
	case *expr.Const:
		if n.T.Numeric() && n.Int == 0 {
			return 0
		}
		return 1
	case *expr.Unary:
		switch n.Op {
		case expr.OpNotB:
			return 1 - passing(n.X)
		case expr.OpTruth, expr.OpToInt:
			return passing(n.X)
		}
	case *expr.Binary:
		return passingBinary(n)
	}
	return 0.5
}

func passingBinary(n *expr.Binary) float64 {
	x, y := 0.0, 0.0
	if n.Op == expr.OpAndB || n.Op == expr.OpOrB {
		x, y = passing(n.X), passing(n.Y)
	}
	switch n.Op {
	case expr.OpAndB:
		return x * y
	case expr.OpOrB:
		return x + y - x*y
	case expr.OpEq, expr.OpEqSU, expr.OpStrEq, expr.OpGlob, expr.OpPrefix, expr.OpSuffix, expr.OpContains:
		return 0.1
	case expr.OpNe, expr.OpNeSU, expr.OpStrNe:
		return 0.9
	}
	if readsDelay(n) {
		return 0.01
	}
	return 0.5
}

// readsDelay reports that n reads the delay of a pair.
func readsDelay(n expr.Node) bool {
	found := false
	expr.Walk(n, func(n expr.Node) bool {
		f, ok := n.(*expr.Field)
		found = found || ok && f.F.Place == event.InMember && f.F.Member == event.MemberDelay
		return !found
	})
	return found
}

// passingAll is passing for all of a branch's predicates.
func passingAll(preds []*graph.Pred) float64 {
	share := 1.0
	for _, p := range preds {
		if p.Prog.Node == nil {
			share /= 2
		} else {
			share *= passing(p.Prog.Node)
		}
	}
	return share
}

// emitting estimates how often a step function emits for each event: always, or
// now and then if the call is under a condition.
func emitting(n expr.Node) float64 {
	switch n := n.(type) {
	case *expr.Emit:
		return 1
	case *expr.If:
		share := passing(n.Test) * emitting(n.Then)
		if n.Else != nil {
			share += (1 - passing(n.Test)) * emitting(n.Else)
		}
		return share
	case nil:
		return 0
	}
	share := 0.0
	for _, c := range expr.Children(n) {
		share += emitting(c)
	}
	return share
}

// readBytes is the number of bytes of fields that are read of each event, by
// stream. Reads through pairs count for the opened events too.
func (p *Placer) readBytes() map[int]int {
	owner := map[*event.Field]int{}
	for _, e := range p.Events {
		for i := range e.Schema.Fields {
			owner[&e.Schema.Fields[i]] = e.Stream
		}
	}
	seen, bytes := map[*event.Field]bool{}, map[int]int{}
	for _, prog := range p.Reads.Programs {
		if prog.Node == nil {
			continue
		}
		expr.Walk(prog.Node, func(n expr.Node) bool {
			if f, ok := n.(*expr.Field); ok && !seen[f.F] {
				if stream, known := owner[f.F.Own()]; known {
					seen[f.F] = true
					bytes[stream] += f.F.Size
				}
			}
			return true
		})
	}
	for _, e := range p.Events {
		if p.seeRecords() || !p.Reads.Exact {
			bytes[e.Stream] = e.Schema.Size
		}
	}
	return bytes
}

// seeRecords reports that some operator may look at whole records.
func (p *Placer) seeRecords() bool {
	return slices.ContainsFunc(p.Nodes, func(n *graph.Node) bool { return n.Op != nil && n.Op.Records })
}
