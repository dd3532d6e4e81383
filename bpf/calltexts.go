package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/hook"
	"ppscript/bpf/state"
	"ppscript/runtime/expr"
)

// This file keeps texts of the process from the start of a pair to its end. They are large, so
// they do not wait with the fields of the start: package state keeps them with the thread.

// keepsTexts notes the texts of the start that readers of a pair need, or that are sent with
// it. alone says that both events are of one thread, whose own memory holds the texts.
func (j *joinOp) keepsTexts(s *layout, p *pair, alone bool) {
	keep := func(what, addr expr.Node) {
		if !alone || j.spec.Nested || s.sourceOf(p.start) == nil {
			refuse("%s is of a moment that has passed, and waits with no thread", what)
		}
		j.Texts = j.Texts.Add(p.start, s.sourceOf(p.start).Schema, addr)
	}
	for _, f := range inside(s.readOf(p.feeds), expr.Start) {
		if at := hook.TextAddress(f.F); at != nil && f.Part == expr.Self {
			keep(f, &expr.Field{F: at})
		}
	}
	for k := range p.feeds {
		for _, n := range state.UserTextsOf(p.feeds[k].nodes()...) {
			if expr.UserTextPart(n) == expr.Start {
				keep(n, expr.Rebind(n, expr.Start, expr.Self).(*expr.Native).Args[0])
			}
		}
		if r := p.feeds[k].emit; r != nil && len(r.Texts) > 0 {
			for _, addr := range r.Texts {
				keep(addr, addr)
			}
			e := s.sourceOf(p.start)
			if e.partTexts = true; e.Probe != nil || e.emits() {
				refuse("texts of %s beside its records", e.Label)
			}
		}
	}
}

// keepTexts keeps the texts of the current event, which is a start. Without memory for them,
// the pair has no texts. waits says that the event waits in the same memory, whose address
// is in R8.
func (o *joiner) keepTexts(waits bool, full label) {
	c, t := o.code, o.join.Texts
	if t.Count(o.input) == 0 {
		return
	}
	mark := c.Stack
	schema := o.eval.Hook.Event.Schema
	b := state.CallBegin{Executes: state.Executes(schema), Waits: waits}
	place := func(n expr.Node) int16 {
		at := c.Alloc(8)
		o.eval.Value(n)
		c.Store(at, asm.R0)
		return at
	}
	if f := state.AnyCall(schema); f != nil {
		b.ID = place(f)
	}
	for _, text := range t {
		if text.Event == o.input {
			b.Addrs = append(b.Addrs, place(text.Addr))
		}
	}
	o.eval.CallTexts(&o.join.Join).Keep(b, full)
	c.Stack = mark
}

// readAgain reads the texts of a pair's start again that were missing, if the pair ends as
// its call does, or the function whose arguments they are.
func (o *joiner) readAgain(p *pair) {
	c, n := o.code, o.join.Texts.Count(p.start)
	ret, probe := state.ResultOf(o.eval.Hook.Event.Schema), o.eval.Hook.Event.Probe
	returns := probe != nil && probe.User && probe.Return
	if n == 0 || !returns && (ret == nil || !o.join.Texts.Begins(p.start)) {
		return
	}
	mark := c.Stack
	none, at := c.Label(), int16(0)
	if !returns {
		at = c.Alloc(8)
		o.eval.Field(asm.R0, ret)
		c.Store(at, asm.R0)
	}
	o.eval.CallTexts(&o.join.Join).Again(n, at, none)
	c.Place(none)
	c.Stack = mark
}
