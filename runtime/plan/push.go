package plan

import (
	"slices"

	"ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/text/diag"
)

// This file moves predicates into the kernel. An event that the kernel's own
// filter rejects costs the traced program a fraction of one that is recorded,
// and us nothing.
//
// A predicate can move only if every reader of the stream has it. Predicates
// that the filter language cannot express are evaluated natively.

// filter sets the filter of each event: the source's own filter, and the
// predicates that move.
func (b *builder) filter() error {
	users := map[int]int{}
	for _, a := range b.plan.feeds {
		for _, edge := range a.edges {
			users[edge.Stream]++
		}
	}
	for _, a := range b.plan.feeds {
		if a.root != nil {
			continue
		}
		for _, edge := range a.edges {
			e := b.events[edge.Stream]
			sampled := e.Source.Period > 1 || e.Source.Freq > 0 // predicates are about sampled events
			if users[edge.Stream] > 1 || e.Source.Kind != eventspec.Tracepoint || sampled || e.projected {
				continue
			}
			e.pushEdge(b, edge)
		}
	}
	return nil
}

// native reports that the kernel can check no part of e's filter.
func (e *Event) native(b *builder) bool {
	return b.env.Replay || e.Source.Pulled() || b.env.NativeFilters[e.Stream.Label]
}

func (e *Event) pushEdge(b *builder, edge *graph.Edge) {
	var kept []*graph.Pred
	native := e.native(b)
	filters := expr.Filters(e.Filter)
	for _, p := range edge.Remaining {
		if p.Prog.Node == nil {
			kept = append(kept, p)
			continue
		}
		filter, rest, ok := expr.KernelFilter(p.Prog.Node)
		if !ok {
			kept = append(kept, p)
			continue
		}
		if native {
			ok = e.filterHere(b, filter)
		} else {
			filters = append(filters, filter)
		}
		if !ok {
			kept = append(kept, p)
			continue
		}
		if rest != nil {
			kept = append(kept, &graph.Pred{Text: p.Text, Prog: expr.Build(rest)})
		}
	}
	edge.Remaining = kept
	e.Filter = expr.Conjoin(filters)
}

// filter gives an event its source's filter, for the kernel or, where that is
// impossible, compiled.
func (e *Event) filter(b *builder, sc *expr.Scope) error {
	text := e.Source.FilterText()
	if b.env.Replay && e.Source.Kind.Sampled() {
		text = expr.Conjoin(slices.DeleteFunc([]string{text, e.Source.Exclude.RecordedFilter()},
			func(part string) bool { return part == "" }))
	}
	if text == "" {
		return nil
	}
	p, err := cexpr.CompileFilter(text, sc)
	// The kernel does not know the arguments of probes. Its filter language has forms that ours
	// lacks: a text that does not parse here is left to the kernel.
	kernel := err == nil || e.Source.Kind != eventspec.Tracepoint || cexpr.KernelTakes(text, sc.Schema)
	if !e.native(b) && e.Source.Probe == nil && !cexpr.CannotBeMeant(err) && kernel {
		e.Filter = text
		return nil
	}
	if err != nil {
		return located(&diag.Error{
			Op:      "filter",
			Subject: e.Stream.Label,
			Class:   diag.Usage,
			Cause:   err,
			Hint:    diag.HintOf(err),
		}, e.Source.Pos)
	}
	e.addNative(b, p, text)
	return nil
}

// filterHere adds a filter that the router evaluates.
func (e *Event) filterHere(b *builder, filter string) bool {
	p, err := cexpr.CompileFilter(filter, b.scope(e.Source, e.Stream.Schema))
	if err != nil {
		return false
	}
	e.addNative(b, p, filter)
	return true
}

func (e *Event) addNative(b *builder, p *expr.Program, text string) {
	b.programs = append(b.programs, p)
	if e.Native != nil {
		p = expr.All([]*expr.Program{e.Native, p})
	}
	e.Native, e.NativeText = p, expr.Conjoin(append(expr.Filters(e.NativeText), text))
}
