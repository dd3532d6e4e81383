package naming

import (
	"encoding/binary"

	"ppscript/runtime/operator/agg"
	"ppscript/runtime/result"
	"ppscript/runtime/source/relay"
	"ppscript/runtime/stack"
)

// This file numbers the places of stacks that came with names. Equal places of
// all senders have one number.

// maxPlaces bounds the places, of some 300 bytes each.
const maxPlaces = 1 << 18

// places are the places of stacks that came with names.
type places struct {
	list      []place // places by number, from 1; free ones are empty
	free      []uint64
	index     map[string]uint64
	full      uint64 // stacks that found no room
	forgotten uint64 // stacks whose definitions by the sender were forgotten
	key       []byte
	numbers   map[*relay.Place]uint64 // numbers by place
	chain     []uint64
	before    int // number of places left by the last retain
}

// A place is an address with its functions.
type place struct {
	key    string
	in     relay.World
	frames []*result.Frame
}

// number returns the number of a place, 0 if there is no room for it.
func (n *places) number(p *relay.Place) uint64 {
	if at, ok := n.numbers[p]; ok {
		return at
	}
	n.key = appendPlaceKey(n.key[:0], p)
	at, ok := n.index[string(n.key)]
	if !ok {
		if at = n.room(); at == 0 {
			return 0
		}
		x := place{key: string(n.key), in: p.In}
		for i := range p.Functions {
			x.frames = append(x.frames, placeFrame(p.Addr, &p.Functions[i]))
		}
		if n.index == nil {
			n.index = map[string]uint64{}
		}
		n.list[at-1], n.index[x.key] = x, at
	}
	if n.numbers == nil || len(n.numbers) >= maxPlaces {
		n.numbers = map[*relay.Place]uint64{}
	}
	n.numbers[p] = at
	return at
}

func (n *places) room() uint64 {
	if k := len(n.free); k > 0 {
		at := n.free[k-1]
		n.free = n.free[:k-1]
		return at
	}
	if len(n.list) >= maxPlaces {
		return 0
	}
	n.list = append(n.list, place{})
	return uint64(len(n.list))
}

func appendPlaceKey(b []byte, p *relay.Place) []byte {
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

func placeFrame(addr uint64, f *relay.Function) *result.Frame {
	return &result.Frame{Addr: addr, Symbol: agg.Named(f.Name), Offset: f.Offset,
		DSO: f.File, BuildID: f.BuildID, File: f.Source, Line: f.Line, Inline: f.Inline, Kernel: f.Kernel}
}

// at returns the functions of a place.
func (n *places) at(number uint64) *place {
	if number == 0 || number > uint64(len(n.list)) {
		return &place{}
	}
	return &n.list[number-1]
}

// crowded reports that there are so many places that it is worth freeing some.
func (n *places) crowded() bool {
	return len(n.index) > max(maxPlaces/16, 2*n.before)
}

// retain frees all places except the places of the given stacks.
func (n *places) retain(t *stack.Table, numbers map[stack.ID]bool) {
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
			*x = place{}
		}
		n.free = append(n.free, uint64(i+1))
	}
	n.numbers, n.before = nil, len(n.index)
}
