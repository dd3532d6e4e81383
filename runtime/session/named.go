package session

import (
	"encoding/binary"
	"fmt"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
	"ppscript/runtime/spread"
	"ppscript/runtime/stack"
)

// This file is about the stacks of events that come from elsewhere, and of
// those that are sent there: their functions have their names already. In the
// table of stacks such a stack is a list of places, each an address with its
// functions; equal places of all senders are one.

// maxNamed bounds the places, some 300 bytes each.
const maxNamed = 1 << 18

// namedPlaces are the places of stacks that came with names.
type namedPlaces struct {
	list   []namedPlace // by number, from 1; free ones are empty
	free   []uint64
	index  map[string]uint64
	full   uint64 // stacks for which there was no room
	gone   uint64 // stacks of which the sender's definitions were forgotten
	key    []byte
	seen   map[*spread.Place]uint64 // numbers of those that were looked up
	chain  []uint64
	before int // what retain left
}

type namedPlace struct {
	key    string
	in     spread.World
	frames []*result.Frame
}

// number is the number of a place, 0 if there is no room for it.
func (n *namedPlaces) number(p *spread.Place) uint64 {
	if at, ok := n.seen[p]; ok {
		return at
	}
	n.key = appendPlaceKey(n.key[:0], p)
	at, ok := n.index[string(n.key)]
	if !ok {
		if at = n.room(); at == 0 {
			return 0
		}
		x := namedPlace{key: string(n.key), in: p.In}
		for i := range p.Functions {
			x.frames = append(x.frames, namedFrame(p.Addr, &p.Functions[i]))
		}
		if n.index == nil {
			n.index = map[string]uint64{}
		}
		n.list[at-1], n.index[x.key] = x, at
	}
	if n.seen == nil || len(n.seen) >= maxNamed {
		n.seen = map[*spread.Place]uint64{}
	}
	n.seen[p] = at
	return at
}

func (n *namedPlaces) room() uint64 {
	if k := len(n.free); k > 0 {
		at := n.free[k-1]
		n.free = n.free[:k-1]
		return at
	}
	if len(n.list) >= maxNamed {
		return 0
	}
	n.list = append(n.list, namedPlace{})
	return uint64(len(n.list))
}

func appendPlaceKey(b []byte, p *spread.Place) []byte {
	text := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	b = binary.AppendUvarint(append(b, byte(p.In)), p.Addr)
	for i := range p.Functions {
		f := &p.Functions[i]
		text(f.Name)
		text(f.File)
		text(f.BuildID)
		text(f.Source)
		b = binary.AppendUvarint(binary.AppendUvarint(b, f.Offset), uint64(f.Line))
		b = append(b, flag(f.Inline)|flag(f.Kernel)<<1)
	}
	return b
}

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

func namedFrame(addr uint64, f *spread.Function) *result.Frame {
	return &result.Frame{Addr: addr, Symbol: f.Name, Offset: f.Offset, DSO: f.File, BuildID: f.BuildID, File: f.Source, Line: f.Line,
		Inline: f.Inline, Kernel: f.Kernel}
}

// at is the functions of a place.
func (n *namedPlaces) at(number uint64) *namedPlace {
	if number == 0 || number > uint64(len(n.list)) {
		return &namedPlace{}
	}
	return &n.list[number-1]
}

// crowded reports that it is worth the time to give up places.
func (n *namedPlaces) crowded() bool {
	return len(n.index) > max(maxNamed/16, 2*n.before)
}

// retain gives up all places but those of the given stacks.
func (n *namedPlaces) retain(t *stack.Table, numbers map[stack.ID]bool) {
	used := make([]bool, len(n.list))
	for id := range numbers {
		if s, ok := t.At(id); ok {
			stack.Each(s.Chain, func(at uint64, in stack.Context, _ bool) {
				if in == stack.Named && at <= uint64(len(used)) {
					used[at-1] = true
				}
			})
		}
	}
	n.free = n.free[:0]
	for i := range n.list {
		if used[i] {
			continue
		}
		if x := &n.list[i]; x.frames != nil {
			delete(n.index, x.key)
			*x = namedPlace{}
		}
		n.free = append(n.free, uint64(i+1))
	}
	n.seen, n.before = nil, len(n.index)
}

// streamIDs are the decoders of samples that may carry the number of a stack.
type streamIDs interface {
	StreamID(e *event.Event) uint64
}

// A namedReader decodes the samples of a stream whose stacks came with names.
type namedReader struct {
	event.Members
	ids     streamIDs
	stacks  *spread.Stacks
	world   *stackWorld
	spec    stack.Spec
	numbers map[*spread.Stack]stack.ID
	as      int // the generation of the table that they are of
}

// maxNumbers bounds the stacks that a reader remembers.
const maxNumbers = 1 << 16

// Member implements event.Members: FactCallchain is the number of the stack.
func (r *namedReader) Member(e *event.Event, f event.Fact) (uint64, bool) {
	if f == event.FactCallchain {
		return uint64(r.id(e)), true
	}
	return r.Members.Member(e, f)
}

// Callchain implements event.Members: the addresses are the sender's.
func (r *namedReader) Callchain(e *event.Event) []uint64 {
	var addrs []uint64
	if s, ok := r.world.table.At(r.id(e)); ok {
		stack.Each(s.Chain, func(at uint64, _ stack.Context, _ bool) {
			if p := r.world.named.at(at); len(p.frames) > 0 {
				addrs = append(addrs, p.frames[0].Addr)
			}
		})
	}
	return addrs
}

// id is the number of e's stack.
//
// Fast path: a known stack is looked up by where it lies.
func (r *namedReader) id(e *event.Event) stack.ID {
	number := r.ids.StreamID(e)
	if number == 0 {
		return stack.None
	}
	s := r.stacks.Find(number)
	if s == nil {
		r.world.named.gone++
		return stack.Full
	}
	if r.numbers == nil || r.as != r.world.generation || len(r.numbers) >= maxNumbers {
		r.numbers, r.as = map[*spread.Stack]stack.ID{}, r.world.generation
	}
	if id, ok := r.numbers[s]; ok {
		return id
	}
	id := r.world.nameStack(s, r.spec, e.Time)
	if id != stack.Full {
		r.numbers[s] = id
	}
	return id
}

// nameStack is the number of a stack that came with names: of what of it is
// wanted.
func (w *stackWorld) nameStack(s *spread.Stack, spec stack.Spec, when event.Time) stack.ID {
	n := &w.named
	n.chain = n.chain[:0]
	for _, p := range s.Places {
		if p.In == spread.InKernel && !spec.Kernel || p.In == spread.InUser && !spec.User || p.In == spread.Elsewhere && !(spec.Kernel && spec.User) {
			continue
		}
		at := n.number(p)
		if at == 0 {
			n.full++
			return stack.Full
		}
		n.chain = append(n.chain, at)
	}
	return w.table.Named(when, n.chain, s.Cut, s.Unwound)
}

// sendable is a stack as it is sent, and whether all of its places have names.
func (w *stackWorld) sendable(id stack.ID) (s *spread.Stack, named bool) {
	if id == stack.Full {
		return &spread.Stack{Places: []*spread.Place{{Functions: []spread.Function{{Name: noRoom.Symbol}}}}}, true
	}
	local, ok := w.table.At(id)
	if !ok {
		return nil, true
	}
	s, named = &spread.Stack{Cut: local.Cut, Unwound: local.Unwound}, true
	stack.Each(local.Chain, func(addr uint64, in stack.Context, exact bool) {
		frames := w.at(&local, addr, in, exact)
		if len(frames) == 0 {
			return
		}
		p := &spread.Place{Addr: frames[0].Addr}
		switch in {
		case stack.Kernel:
			p.In = spread.InKernel
		case stack.User:
			p.In = spread.InUser
		case stack.Named:
			p.In = w.named.at(addr).in
		}
		for _, f := range frames {
			p.Functions = append(p.Functions, spread.Function{Name: f.Symbol, Offset: f.Offset, File: f.DSO, BuildID: f.BuildID,
				Source: f.File, Line: f.Line, Inline: f.Inline, Kernel: f.Kernel})
			named = named && f.Symbol != ""
		}
		s.Places = append(s.Places, p)
	})
	return s, named
}

// carrier is the source that tells of the stacks of a stream's events, nil if
// they are in its samples.
func (w *world) carrier(e *event.Stream) *spread.Source {
	for _, src := range w.others() {
		infos := src.StreamInfos()
		for i, st := range src.Streams() {
			if st.Schema == e.Schema && src.Stacks.Carries(infos[i].IDs) {
				return src
			}
		}
	}
	return nil
}

// sayStackless tells why a pulled event has no stacks.
func (w *world) sayStackless(e *plan.Event) {
	at := slices.IndexFunc(w.remotes, func(r *remote) bool { return r.gives(e) })
	if at < 0 {
		return
	}
	r := w.remotes[at]
	if v := r.file.Stacks.Newer(); v != 0 {
		w.sayOnce(fmt.Sprintf("pull %s: the call stacks come in form %d, which this ppscript does not know: use one as new as the sender's", r.name, v))
		return
	}
	w.sayOnce(fmt.Sprintf("pull %s: %s comes without call stacks: have them sent: ppscript trace -g -e '%s//push=.../'", r.name, e.Stream.Label, e.Stream.Schema.FullName()))
}

// others are all sources but the kernel.
func (w *world) others() (all []*spread.Source) {
	if w.file != nil {
		all = append(all, w.file)
	}
	for _, m := range w.remotes {
		all = append(all, m.file)
	}
	return all
}
