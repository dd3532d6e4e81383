package bpf

import (
	"ppscript/bpf/chain"
	"ppscript/bpf/load"
	"ppscript/runtime/expr"
)

// This file says of which events there are call stacks, which package chain finds.

// stackOf is the stacks of the event, once it is known that somebody counts by
// them.
func stackOf(e *Event, n expr.Node) *StackSpec {
	if n.(*expr.Field).Part == expr.Start {
		refuse("the stack of a start is forgotten when its pair ends")
	}
	s := e.Stack
	if s == nil || s.Max <= 0 || !s.Kernel && !s.User {
		refuse("stacks that nobody asked for")
	}
	return s
}

// chain is the layout of the stacks of all events.
func (s *graph) chain() (kernel, user int) {
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
	s := im.graph
	w := &chain.Walker{}
	if w.Kernel, w.User = s.chain(); w.Kernel+w.User == 0 {
		return
	}
	for i, e := range s.sources {
		if e.stacked && !e.served {
			im.define(load.ChainMap.Of(i), w.Memory())
		}
	}
	for n := range s.generations() {
		im.define(load.StacksMap.Of(n), grows(im.host, w.Kept(), 0, chain.Most))
	}
	if w.User > 0 {
		im.define(load.FreshMap.Of(), chain.Fresh())
	}
}
