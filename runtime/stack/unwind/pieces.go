package unwind

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"slices"

	"ppscript/runtime/stack/dso"
)

// A Piece is contiguous code, [From, To) in addresses of the file's tables: a function, or a part
// of one that a compiler put elsewhere, since it runs rarely or often.
type Piece struct{ From, To uint64 }

// Has reports that the piece contains an address.
func (p Piece) Has(addr uint64) bool { return addr >= p.From && addr < p.To }

// Pieces returns the pieces that .eh_frame describes, by address; none if a file has no such section.
func Pieces(im *dso.Image) []Piece {
	if im.Class != elf.ELFCLASS64 || im.ByteOrder != binary.LittleEndian {
		return nil
	}
	s, ok := ehFrame(im)
	if !ok {
		return nil
	}
	fdes, _ := s.fdes() // damaged entries are left out
	list := make([]Piece, len(fdes))
	for i := range fdes {
		list[i] = Piece{fdes[i].start, fdes[i].end}
	}
	slices.SortFunc(list, func(a, b Piece) int { return cmp.Compare(a.From, b.From) })
	return list
}
