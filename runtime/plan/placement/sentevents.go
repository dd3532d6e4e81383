package placement

import (
	"slices"

	"ppscript/bpf"
	"ppscript/runtime/expr"
	"ppscript/runtime/plan/graph"
)

// This file lets programs send events that other programs also count or relate: for example a
// log of some events of a table or of a join. The program of the event checks the conditions
// of its readers here, and sends only what these let through.
//
// Where nobody makes anything of the events but counts, perf sends them all the same.
//
// With whole records, programs also send the context members that lines show. Operators in
// ppscript that keep state get no such events unless the user asks for it: an event that
// comes while programs are busy is counted as lost, but its position among the others is
// not known.

// outside lists the edges by which operators in ppscript get the events of a
// stream.
func (p *Placer) outside(stream int) (readers []*graph.Edge) {
	for _, e := range p.Edges {
		if e.Stream == stream && e.To.Refusal != "" {
			readers = append(readers, e)
		}
	}
	return readers
}

// readOutside reports that operators in ppscript read the events of a stream.
func (p *Placer) readOutside(stream int) bool {
	return slices.ContainsFunc(p.Edges, func(e *graph.Edge) bool {
		return e.Stream == stream && e.To.Refusal != ""
	})
}

// beside adds the events that operators in ppscript read themselves, or says why programs
// cannot send them, or why it does not pay.
func (s *pairSender) beside() (why string) {
	p := s.p
	c := &projector{p: p, part: &bpf.Part{}, must: true, whole: !p.Reads.Exact, beside: true}
	var parts []*sentPairs
	pays := len(s.parts) > 0 || slices.ContainsFunc(p.Nodes, func(n *graph.Node) bool {
		return n.Op != nil && n.Refusal == "" && n.Op.Stateful
	})
	for _, e := range p.Events {
		readers := p.outside(e.Stream)
		if len(readers) == 0 {
			continue
		}
		for _, r := range readers {
			op := r.To.Op
			why = r.To.Name + ", which runs here, reads " + e.Label + " itself"
			stateful := op.Stateful && p.env.Engine == EngineAuto
			if stateful || e.Decides || !e.Known() || e.ExcludedReason != "" {
				return why
			}
			c.whole = c.whole || op.Records
		}
		part := &sentPairs{event: e, edge: &graph.Edge{Name: e.Label, Stream: e.Stream,
			Send: &graph.Record{}}}
		for _, pred := range readers[0].Unchecked() {
			others := slices.ContainsFunc(readers, func(r *graph.Edge) bool {
				return !slices.Contains(r.Preds, pred)
			})
			node := pred.Prog.Node
			if others || pred.Stateful() || node == nil || !expr.Pure(node) || !c.runs(e, node) {
				break // operators behind it read its output
			}
			part.edge.Preds, part.moved = append(part.edge.Preds, pred), append(part.moved, pred)
		}
		parts = append(parts, part)
		c.part.Events, c.part.Edges = append(c.part.Events, e), append(c.part.Edges, part.edge)
		c.moved = append(c.moved, part.moved)
	}
	switch {
	case len(parts) == 0:
		return ""
	case !pays && p.env.Engine == EngineAuto:
		return why
	case p.Stacked != "":
		return p.Stacked
	}
	if err := c.fields(); err != nil {
		return err.Error()
	}
	for _, part := range parts {
		part.edge.Send.Context = c.whole
	}
	s.parts = append(s.parts, parts...)
	return ""
}

// beside records the fields that are sent of each event.
func (p *Placer) beside(parts []*sentPairs) {
	c := &projector{p: p, part: &bpf.Part{}}
	for _, part := range parts {
		if part.event == nil {
			continue
		}
		c.part.Edges, c.moved = append(c.part.Edges, part.edge), append(c.moved, part.moved)
		p.openings[slices.Index(p.Events, part.event)].Projection = c.sentText(len(c.part.Edges) - 1)
	}
}
