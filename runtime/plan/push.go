package plan

import (
	"strings"

	"ppscript/runtime/diag"
	"ppscript/runtime/expr"
)

// This file moves predicates into the kernel. An event that the kernel's own
// filter rejects costs the traced program a fraction of one that is recorded,
// and us nothing.
//
// A predicate can move only if everybody who reads the stream has it. What the
// filter language cannot express stays native.

// push settles the filter of each event: the source's own, and what moves.
func (b *builder) push() {
	users := map[int]int{}
	for _, a := range b.attached {
		for _, br := range a.branches {
			users[br.stream]++
		}
	}
	for _, a := range b.attached {
		if a.root != nil {
			continue
		}
		for i := range a.branches {
			br := &a.branches[i]
			e := b.events[br.stream]
			if b.native(e) || users[br.stream] > 1 || e.Source.Kind != Tracepoint {
				continue
			}
			b.pushBranch(e, br)
		}
	}
}

// native reports that nothing of e's filter can be left to the kernel.
func (b *builder) native(e *Event) bool {
	return b.env.Replay || b.env.NativeFilters[e.Stream.Label]
}

func (b *builder) pushBranch(e *Event, br *branch) {
	var kept []*pred
	filters := nonEmpty(e.Filter)
	for _, p := range br.preds {
		if p.prog.Node == nil {
			kept = append(kept, p)
			continue
		}
		filter, rest, ok := expr.KernelFilter(p.prog.Node)
		if !ok {
			kept = append(kept, p)
			continue
		}
		filters = append(filters, filter)
		if rest != nil {
			kept = append(kept, &pred{p.text, expr.Build(rest)})
		}
	}
	br.preds = kept
	e.Filter = conjoin(filters)
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// conjoin joins filters with &&, in parentheses where there are several.
func conjoin(filters []string) string {
	if len(filters) == 1 {
		return filters[0]
	}
	for i, f := range filters {
		filters[i] = "(" + f + ")"
	}
	return strings.Join(filters, " && ")
}

// filter gives an event its source's filter, for the kernel or, where that is
// impossible, compiled.
func (b *builder) filter(e *Event, sc *expr.Scope) error {
	text := e.Source.filterText()
	if text == "" {
		return nil
	}
	// The kernel knows no arguments of probes.
	if !b.native(e) && e.Source.Probe == nil {
		e.Filter = text
		return nil
	}
	p, err := expr.CompileFilter(text, sc)
	if err != nil {
		return &diag.Error{Op: "filter", Subject: e.Stream.Label, Class: diag.Usage, Cause: err, Hint: diag.HintOf(err)}
	}
	e.Native = p
	b.programs = append(b.programs, p)
	return nil
}

// conjunction is the program of all that a branch's events must satisfy: what
// is left of the source's filter, and the predicates; nil if nothing.
func (b *builder) conjunction(br branch) *expr.Program {
	var all []*expr.Program
	if e := b.events[br.stream]; e != nil && e.Native != nil {
		all = append(all, e.Native)
	}
	for _, p := range br.preds {
		all = append(all, p.prog)
	}
	if len(all) == 0 {
		return nil
	}
	return expr.All(all)
}
