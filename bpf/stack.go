package bpf

import (
	"slices"

	"ppscript/bpf/load"
	"ppscript/bpf/state"
	"ppscript/bpf/walk"
	"ppscript/runtime/expr"
	"ppscript/runtime/record/sent"
)

// This file decides which events have call stacks. Package walk generates the
// code that walks them.

// stackOf returns which stack of an event n reads. It refuses a stack that is
// not available.
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

// chain is the largest number of kernel and of user frames of any event's
// stacks.
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

// stackMaps defines the maps of all stacks.
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

// sendsStacks makes the stacks of a pair's events part of its record. The hash of the
// start's stack waits with the start.
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

// sendsStack makes the stack of an event part of a sent or kept record.
func (s *layout) sendsStack(e *source) {
	if e.Stack.Max <= 0 || !e.Stack.Kernel && !e.Stack.User {
		refuse("stacks that nobody asked for")
	}
	e.stacked, s.keepsStacks = true, true
}

// stack writes the hash of the event's call stack to the place at, and keeps the call stack
// for readers of the record. The hash is zero if there is no room. It overwrites R7 to R9.
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

// SendsStacks reports that sent records refer to call stacks (load.Chain).
func (im *Image) SendsStacks() bool { return im.layout.keepsStacks }
