package bpf

import (
	"slices"

	"ppscript/bpf/load"
	"ppscript/bpf/state"
	"ppscript/bpf/walk"
	"ppscript/runtime/expr"
	"ppscript/runtime/record/sent"
)

// This file says of which events there are call stacks, which package walk finds.

// stackOf is the stacks of the event, once it is known that somebody counts by
// them.
func stackOf(e *Event, n expr.Node) *StackSpec {
	if n.(*expr.Field).Part.Past() {
		refuse("the stack of a start is forgotten when its pair ends")
	}
	s := e.Stack
	if s == nil || s.Max <= 0 || !s.Kernel && !s.User {
		refuse("stacks that nobody asked for")
	}
	return s
}

// chain is the layout of the stacks of all events.
func (s *layout) chain() (kernel, user int) {
	for _, e := range s.sources {
		if st := e.Stack; st != nil && e.stacked {
			if st.Kernel {
				kernel = max(kernel, st.Max)
			}
			if st.User {
				user = max(user, st.Max)
			}
		}
	}
	return kernel, user
}

// stackMaps are the maps of all stacks.
func (im *Image) stackMaps() {
	s := im.layout
	w := &walk.Stacks{}
	if w.Kernel, w.User = s.chain(); w.Kernel+w.User == 0 {
		return
	}
	w.Tables = slices.ContainsFunc(s.sources, func(e *source) bool { return e.stacked && e.Stack.Tables })
	for i, e := range s.sources {
		if e.stacked && !e.served {
			im.define(load.ChainMap.Of(i), w.Memory())
			w.Interpreted = w.Interpreted || walk.Interpreted(e.Event)
		}
	}
	w.FoundMaps(im.define)
	if s.keepsStacks {
		im.define(load.StacksMap.Of(load.SentStacks), state.Grow(im.host, w.MapSpec(), 0, walk.MostStacks))
	}
	for n := range s.generations() {
		im.define(load.StacksMap.Of(n), state.Grow(im.host, w.MapSpec(), 0, walk.MostStacks))
	}
	if s.holdsStacks {
		if !im.host.Atomics {
			refuse("stacks that folds hold are numbered from Linux 5.12 on")
		}
		stacks, numbers, count := w.HeldMaps()
		im.define(load.HeldMap.Of(), state.Grow(im.host, stacks, 0, walk.MostStacks))
		im.define(load.HeldNumbersMap.Of(), state.Grow(im.host, numbers, 0, walk.MostStacks))
		im.define(load.HeldCountMap.Of(), count)
	}
	if w.User > 0 {
		im.define(load.FreshMap.Of(), walk.FreshMap())
	}
}

// sendsStacks has the stacks of a pair's events sent with it: that of the start waits, as
// its hash.
func (s *layout) sendsStacks(j *joinOp, p *pair, r *record) {
	for i, of := range [2]int{p.start, p.end} {
		if e := s.sourceOf(of); e != nil && e.Stack != nil {
			s.sendsStack(e)
			r.stacked[i] = true
		}
	}
	if r.stacked[0] {
		j.Waits.Save(waits(sent.Stack, p.start, true))
	}
}

// sendsStack has the stack of an event sent, or kept.
func (s *layout) sendsStack(e *source) {
	if e.Stack.Max <= 0 || !e.Stack.Kernel && !e.Stack.User {
		refuse("stacks that nobody asked for")
	}
	e.stacked, s.keepsStacks = true, true
}

// stack leaves the hash of the stack of the event at hand, and keeps the stack for readers of
// the record. R7 to R9 are lost.
func (g *gate) stack(at int16, spec *StackSpec) {
	c := g.code
	full, kept := c.Label(), c.Label()
	g.walk.Leave(at, spec, full)
	g.walk.Keep(at, load.SentStacks, full)
	c.GoTo(kept)
	c.Place(full)
	g.count(load.StatEvicted)
	c.Zero(at, load.StackKey)
	c.Place(kept)
}

// SendsStacks reports that what the programs send has stacks (load.Chain).
func (im *Image) SendsStacks() bool { return im.layout.keepsStacks }
