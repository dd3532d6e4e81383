package plan

import (
	"fmt"
	"slices"
	"strings"

	"ppscript/bpf"
	"ppscript/runtime/cexpr"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/task"
)

// This file lets the cut go behind a join: programs relate the events, count what
// they can, and send the pairs for which the predicates hold that all who read them
// have. Who reads them in ppscript gets them as if the join ran here (arrivals.go).
//
// A pair has the fields of both events that somebody reads, which for a line are all
// of them. Stacks, arrays of another form and texts of any length stay with events
// that are sent themselves.

// A pairSender settles what programs send of pairs.
type pairSender struct {
	b     *builder
	parts []*sentPairs
}

// sentPairs are the pairs of one stream.
type sentPairs struct {
	edge  *bpf.Edge
	moved []*pred // that programs check
	start *event.Schema
	end   *event.Schema
}

// pairs is what programs can send of the pairs that operators outside read; nil if
// they cannot, or if there are none.
func (b *builder) pairs(g *placing) *pairSender {
	t := &b.env.KernelEnv
	switch {
	case g.collected == nil || t.NoProjection != "" || t.NoKernel != "":
		return nil
	case len(b.contexts)+len(b.texts) > 0 || b.sendable() != nil:
		return nil
	}
	for _, l := range Of[*LogOp](b.plan) {
		if l.Spec.Newest {
			return nil
		}
	}
	for stream := range b.asks {
		if b.events[stream] == nil {
			return nil // whom a pair is about is asked here
		}
	}
	s := &pairSender{b: b}
	for _, n := range Of[*JoinOp](b.plan) {
		if at, known := g.ops[n]; !known || g.nodes[at].no != "" {
			continue
		}
		for start, ends := range n.js.Pairs {
			for end, st := range ends {
				if st != nil && !s.add(g, n, start, end, st) {
					return nil
				}
			}
		}
	}
	if len(s.parts) == 0 {
		return nil
	}
	return s
}

// add adds the pairs of a stream, if somebody outside reads them.
func (s *pairSender) add(g *placing, n *JoinOp, start, end int, st *event.Stream) bool {
	var readers []*placeEdge
	for _, e := range g.edges {
		if e.br.stream == st.Index && g.nodes[e.to].no != "" {
			readers = append(readers, e)
		}
	}
	if len(readers) == 0 {
		return true
	}
	p := &sentPairs{start: s.b.plan.streams[start].Schema, end: s.b.plan.streams[end].Schema,
		edge: &bpf.Edge{Name: st.Label, Stream: st.Index, Send: &bpf.Record{}}}
	for _, pred := range readers[0].br.preds {
		others := slices.ContainsFunc(readers, func(e *placeEdge) bool {
			return !slices.Contains(e.br.preds, pred)
		})
		node := pred.prog.Node
		if others || pred.state != nil || node == nil || pred.prog.IsInterpreted() || !expr.Pure(node) {
			break // those behind it see what it lets through
		}
		p.edge.Preds, p.moved = append(p.edge.Preds, node), append(p.moved, pred)
	}
	if slow, is := g.nodes[readers[0].to].op.(*SlowOp); is && len(readers) == 1 {
		if bound := slow.bound(readers[0].br); bound != nil {
			p.edge.Preds = append(p.edge.Preds, bound)
		}
	}
	s.parts = append(s.parts, p)
	return s.fields(g, n, end, p)
}

// bound is which pairs are slow, as a predicate; nil is all.
func (s *SlowOp) bound(br *branch) expr.Node {
	var texts []string
	if s.Spec.Than >= 0 {
		texts = append(texts, fmt.Sprintf("delay > %d", s.Spec.Than))
	}
	if s.Spec.Lower >= 0 {
		texts = append(texts, fmt.Sprintf("delay < %d", s.Spec.Lower))
	}
	if len(texts) == 0 {
		return nil
	}
	p, err := cexpr.Compile(strings.Join(texts, " || "), br.scope)
	if err != nil {
		return nil
	}
	return p.Node
}

// fields settles what is sent of the two events of a pair; false if that cannot be.
func (s *pairSender) fields(g *placing, n *JoinOp, end int, p *sentPairs) bool {
	b := s.b
	names, exact := b.readByScripts()
	all, named, possible := !exact, Has[*LogOp](b.plan), true
	want := map[*event.Field]bool{} // of either event
	for _, node := range g.nodes {
		if node.op == nil || node.no == "" {
			continue
		}
		sees := node.op.sees()
		all = all || sees.starts || sees.records
	}
	add := func(f *expr.Field) {
		switch place := f.F.Place; {
		case place == event.InMember && f.F.Member == event.MemberComm:
			named = true
		case place == event.InMember && !plainMember(f.F.Member):
			possible = false
		case place != event.InMember && place != event.InSlot:
			want[f.F] = true
		}
	}
	for _, prog := range b.programs {
		if prog.Node == nil {
			all = true
			continue
		}
		expr.Walk(prog.Node, func(n expr.Node) bool {
			switch n := n.(type) {
			case *expr.Field:
				if n.Part != expr.Self {
					add(n)
				}
			case *expr.Mem:
				_, part, ok := expr.RecordOffset(n.Addr)
				all = all || !ok || part != expr.Self
			case *expr.CStr, *expr.MemBytes:
				all = true
			case *expr.Native:
				if n.Is(expr.ReadsRecord) {
					for _, f := range namedBy(n) {
						if f.Part != expr.Self {
							add(f)
						}
					}
				}
			}
			return true
		})
	}
	// The key of a pair is computed of its end.
	if key := n.js.In[end].Key; key.Node == nil {
		return false
	} else {
		expr.Walk(key.Node, func(n expr.Node) bool {
			switch n := n.(type) {
			case *expr.Field:
				add(n)
			case *expr.Mem, *expr.CStr, *expr.MemBytes:
				possible = false
			}
			return true
		})
	}

	send := p.edge.Send
	send.Context = all
	for part, schema := range map[expr.Part]*event.Schema{expr.Start: p.start, expr.End: p.end} {
		if named {
			for _, f := range task.Tells(schema) {
				want[f] = true
			}
		}
		for i := range schema.Fields {
			f := &schema.Fields[i]
			switch {
			case !all && !want[f] && !slices.Contains(names, f.Name):
			case f.Name == "common_flags" || f.Name == "common_preempt_count":
				send.Context = true
			case f.Name == "common_type" || f.Name == "common_pid":
			case f.Place == event.InMember || f.Place == event.InSlot:
			default:
				send.Fields = append(send.Fields, &expr.Field{F: f, Part: part})
			}
		}
	}
	slices.SortStableFunc(send.Fields, func(a, b *expr.Field) int {
		if a.Part != b.Part {
			return int(a.Part) - int(b.Part)
		}
		return a.F.Offset - b.F.Offset
	})
	return possible
}

// foreseen reports that the pairs that leave have all those as readers for whom they
// were settled: who could be in the kernel may have been left outside.
func (s *pairSender) foreseen(g *placing) bool {
	return !slices.ContainsFunc(g.edges, func(e *placeEdge) bool {
		sent := slices.ContainsFunc(s.parts, func(p *sentPairs) bool { return p.edge.Stream == e.br.stream })
		return sent && !g.made[e.to] && g.nodes[e.to].no == ""
	})
}

// rooms are what the pairs cost that leave the kernel, in bytes for each event of the
// sources, by stream.
func (s *pairSender) rooms(g *placing) map[int]float64 {
	rooms := map[int]float64{}
	for _, p := range s.parts {
		size := sentHead
		for _, f := range p.edge.Send.Fields {
			size += f.F.Size
		}
		share := g.passed[p.edge.Stream]
		for _, n := range p.edge.Preds {
			share *= passing(n)
		}
		rooms[p.edge.Stream] = share * float64(size)
	}
	return rooms
}

// behind generates the programs of what the cut left in the kernel, which send the
// pairs that leave it. The predicates that programs check are taken from who reads
// these.
func (b *builder) behind(g *placing, s *pairSender) (*Kernel, error) {
	t := &b.env.KernelEnv
	k := g.collected
	part := &bpf.Part{Events: k.part.Events, Intervals: t.Intervals, Counted: t.Counted}
	for i, n := range g.nodes {
		if n.op == nil || !g.made[i] {
			continue
		}
		for _, e := range g.edges {
			if e.to == i {
				k.bring(part, e.br.stream, n.op)
			}
		}
	}
	for _, p := range s.parts {
		part.Edges = append(part.Edges, p.edge)
	}
	if err := b.textsFit(); err != nil {
		return nil, err
	}
	image, err := bpf.Generate(part, t.Host, t.Target)
	if err != nil {
		return nil, refusal(err)
	}
	if err := b.bounded(image); err != nil {
		return nil, err
	}
	k.out.Image, k.out.inside, k.out.sends = image, map[Operator]bool{}, true
	for i, n := range g.nodes {
		if n.op != nil && g.made[i] {
			k.out.inside[n.op] = true
		}
	}
	for _, p := range s.parts {
		b.without(p.moved)
	}
	return k.out, nil
}

// Sends reports that programs do a part of the plan's work, and send the rest what
// they make.
func (k *Kernel) Sends() bool { return k != nil && k.sends }
