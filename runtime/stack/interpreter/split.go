package interpreter

import (
	"cmp"
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"ppscript/runtime/stack/dso"
	"ppscript/runtime/stack/unwind"
)

// This file finds all code of a function that a compiler has split. The compiler puts code that it
// expects to run rarely elsewhere, in a piece that has no symbol in a stripped file. In Debian's
// CPython 3.14 that is nearly the whole interpreter.

// Bounds, also for malicious files: on a function's pieces, and on the code that is decoded to find
// them, in bytes.
const (
	maxSplit   = 8
	maxDecoded = 4 << 20
)

// split returns the pieces of a function, whose symbol names the first piece. A jump into the
// middle of a piece shows that both belong to one function, since other functions are entered at
// their begin.
func split(im *dso.Image, first unwind.Piece) []unwind.Piece {
	all := unwind.Pieces(im)
	found := []unwind.Piece{first}
	left, decoded := uint64(maxDecoded), map[unwind.Piece][]uint64{}
	from := func(p unwind.Piece) []uint64 {
		if _, known := decoded[p]; !known && p.To-p.From <= left {
			left -= p.To - p.From
			decoded[p] = jumps(im, p)
		}
		return decoded[p]
	}
	for i := 0; i < len(found); i++ {
		for _, to := range from(found[i]) {
			at, begins := slices.BinarySearchFunc(all, to, func(p unwind.Piece, to uint64) int {
				return cmp.Compare(p.From, to)
			})
			if !begins {
				at--
			}
			if at < 0 || !all[at].Has(to) || slices.Contains(found, all[at]) || len(found) == maxSplit {
				continue
			}
			if !begins || slices.ContainsFunc(from(all[at]), func(to uint64) bool {
				return found[i].Has(to) && to != found[i].From
			}) {
				found = append(found, all[at])
			}
		}
	}
	return found
}

// jumps lists the targets, outside of a piece of code, of its direct jumps, each
// once.
func jumps(im *dso.Image, p unwind.Piece) (list []uint64) {
	code := im.Bytes(p.From, int(p.To-p.From))
	for at := 0; at < len(code); {
		inst, err := x86asm.Decode(code[at:], 64)
		if err != nil || inst.Len == 0 {
			at++ // an instruction that the decoder does not support
			continue
		}
		at += inst.Len
		if rel, ok := inst.Args[0].(x86asm.Rel); ok && inst.Op != x86asm.CALL {
			if to := p.From + uint64(at) + uint64(int64(rel)); !p.Has(to) {
				list = append(list, to)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
