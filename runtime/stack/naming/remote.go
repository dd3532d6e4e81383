package naming

import (
	"ppscript/runtime/event"
	"ppscript/runtime/source/relay"
	"ppscript/runtime/stack"
)

// This file handles the stacks of events that are received from or sent to
// other machines. Their functions have names already. In the table of stacks,
// such a stack is a list of places, each an address with its functions; equal
// places of all senders are one.

// StreamIDs is implemented by decoders of samples that may have the number of a
// stack.
type StreamIDs interface {
	StreamID(e *event.Event) uint64
}

// A namedReader decodes the samples of a stream whose stacks came with names.
type namedReader struct {
	event.Members
	ids     StreamIDs
	stacks  *relay.Stacks
	names   *Namer
	spec    stack.Spec
	numbers map[*relay.Stack]stack.ID
	as      int // generation of the table for these numbers
}

// maxNumbers bounds the stacks that a namedReader remembers.
const maxNumbers = 1 << 16

// Member implements event.Members: MemberCallchain is the number of the stack.
func (r *namedReader) Member(e *event.Event, f event.Member) (uint64, bool) {
	if f == event.MemberCallchain {
		return uint64(r.id(e)), true
	}
	return r.Members.Member(e, f)
}

// Callchain implements event.Members: the addresses are the sender's.
func (r *namedReader) Callchain(e *event.Event) []uint64 {
	var addrs []uint64
	if s, ok := r.names.table.At(r.id(e)); ok {
		stack.Each(s.Chain, func(at uint64, _ stack.Context, _ bool) {
			if p := r.names.places.at(at); len(p.frames) > 0 {
				addrs = append(addrs, p.frames[0].Addr)
			}
		})
	}
	return addrs
}

// RemoteReader is Reader for a stream whose stacks came with names. Samples have
// numbers of stacks, which stacks defines.
func (n *Namer) RemoteReader(m event.Members, ids StreamIDs, stacks *relay.Stacks,
	spec stack.Spec) event.Members {
	return &namedReader{Members: m, ids: ids, stacks: stacks, names: n, spec: spec}
}

// id is the number of e's stack.
//
// Fast path: a known stack is found by its address in memory.
func (r *namedReader) id(e *event.Event) stack.ID {
	number := r.ids.StreamID(e)
	if number == 0 {
		return stack.None
	}
	s := r.stacks.Find(number)
	if s == nil {
		r.names.places.forgotten++
		return stack.Full
	}
	if r.numbers == nil || r.as != r.names.generation || len(r.numbers) >= maxNumbers {
		r.numbers, r.as = map[*relay.Stack]stack.ID{}, r.names.generation
	}
	if id, ok := r.numbers[s]; ok {
		return id
	}
	id := r.names.nameStack(s, r.spec, e.Time)
	if id != stack.Full {
		r.numbers[s] = id
	}
	return id
}

// nameStack returns the number of a stack that came with names, limited to the
// wanted part.
func (n *Namer) nameStack(s *relay.Stack, spec stack.Spec, when event.Time) stack.ID {
	known := &n.places
	known.chain = known.chain[:0]
	for _, p := range s.Places {
		if !inStack(p.In, spec) {
			continue
		}
		at := known.number(p)
		if at == 0 {
			known.full++
			return stack.Full
		}
		known.chain = append(known.chain, at)
	}
	return n.table.Named(when, known.chain, s.Cut, s.Unwound)
}

// inStack reports that spec wants places of that context.
func inStack(in relay.World, spec stack.Spec) bool {
	switch in {
	case relay.InKernel:
		return spec.Kernel
	case relay.InUser:
		return spec.User
	}
	return spec.Kernel && spec.User
}

// Sendable returns a stack in the form for sending, and whether all of its
// places have names.
func (n *Namer) Sendable(id stack.ID) (s *relay.Stack, named bool) {
	if id == stack.Full {
		return &relay.Stack{Places: []*relay.Place{
			{Functions: []relay.Function{{Name: NoRoom.Symbol}}},
		}}, true
	}
	local, ok := n.table.At(id)
	if !ok {
		return nil, true
	}
	s, named = &relay.Stack{Cut: local.Cut, Unwound: local.Unwound}, true
	stack.Each(local.Chain, func(addr uint64, in stack.Context, exact bool) {
		frames := n.at(&local, addr, in, exact)
		if len(frames) == 0 {
			return
		}
		p := &relay.Place{Addr: frames[0].Addr}
		switch in {
		case stack.Kernel:
			p.In = relay.InKernel
		case stack.User:
			p.In = relay.InUser
		case stack.Named:
			p.In = n.places.at(addr).in
		}
		for _, f := range frames {
			p.Functions = append(p.Functions, relay.Function{Name: f.Symbol, Offset: f.Offset,
				File: f.DSO, BuildID: f.BuildID, Source: f.File, Line: f.Line,
				Inline: f.Inline, Kernel: f.Kernel})
			named = named && f.Symbol != ""
		}
		s.Places = append(s.Places, p)
	})
	return s, named
}
