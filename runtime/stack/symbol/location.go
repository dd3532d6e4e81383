package symbol

import (
	"bytes"
	"debug/dwarf"
	"encoding/binary"

	"ppscript/runtime/stack/dso"
)

// This file finds the registers of parameters at the begin of their function. The compiler records
// them for each parameter that it kept, also if it made a copy of a function with fewer parameters
// or in another order.

// locations has the lists of debug information with the locations of variables.
type locations struct {
	order binary.ByteOrder
	old   []byte // .debug_loc, up to version 4
	lists []byte // .debug_loclists, from version 5 on, or the lists of split units
	gnu   bool   // lists have the form of split units before version 5
	addrs []byte // .debug_addr
}

// locations returns the location lists of the current unit. The lists of the file itself are read
// once.
func (s *Signatures) locations() *locations {
	t := s.tree
	if t.locs != nil {
		return t.locs
	}
	if t.split != nil {
		t.locs = t.split.locations(t)
		return t.locs
	}
	if s.locs == nil {
		s.locs = readLocations(s.image)
	}
	t.locs = s.locs
	return t.locs
}

func readLocations(im *dso.Image) *locations {
	l := &locations{order: im.ByteOrder}
	section := func(name string) []byte {
		b, err := im.Wide(name, maxOfFile)
		if err != nil {
			return nil // without them, the calling convention is used
		}
		return b
	}
	l.old, l.lists = section(".debug_loc"), section(".debug_loclists")
	if len(l.lists) > 0 {
		l.addrs = section(".debug_addr")
	}
	return l
}

// Operations of expressions, DW_OP_*.
const (
	opReg0  = 0x50
	opReg31 = 0x6f
	opRegX  = 0x90
	opPiece = 0x93
)

// location is the expression for the location of a parameter at an address; nil if there is
// none. root is the unit's first entry.
func (s *Signatures) location(root, e *dwarf.Entry, addr uint64) []byte {
	f := e.AttrField(dwarf.AttrLocation)
	if f == nil {
		return nil
	}
	if expr, ok := f.Val.([]byte); ok { // the same in the whole function
		return expr
	}
	n, ok := f.Val.(int64)
	if !ok {
		if x, is := f.Val.(uint64); is {
			n, ok = int64(x), true
		}
	}
	if !ok || n < 0 {
		return nil
	}
	base := s.tree.low
	if s.tree.split == nil {
		base, _ = root.Val(dwarf.AttrLowpc).(uint64)
	}
	l := s.locations()
	if s.tree.version < 5 && !l.gnu {
		return l.inOld(n, base, addr)
	}
	if f.Class == dwarf.ClassLocList { // an index in the unit's table
		at, _ := root.Val(dwarf.AttrLoclistsBase).(int64)
		r := reader{l.lists, l.order, int(at + 4*n)}
		n = at + int64(r.fixed(4))
	}
	first, _ := root.Val(dwarf.AttrAddrBase).(int64)
	return l.inLists(n, base, addr, first)
}

// A Piece is a part of a value that is in a register, by its DWARF number; -1 if it is elsewhere.
type Piece struct{ Reg, Size int }

// piecesOf returns the parts of a value, from its first byte on, as far as the expression is
// understood.
func piecesOf(expr []byte) (pieces []Piece) {
	for len(expr) > 0 && len(pieces) < mostMembers {
		n := bytes.IndexByte(expr, opPiece)
		if n < 0 || n > 2 || n+1 >= len(expr) || expr[n+1] >= 0x80 {
			break
		}
		pieces = append(pieces, Piece{registerOf(expr[:n]), int(expr[n+1])})
		expr = expr[n+2:]
	}
	return pieces
}

// registerOf is the register that has the whole value; -1 for other locations.
func registerOf(expr []byte) int {
	switch {
	case len(expr) == 1 && expr[0] >= opReg0 && expr[0] <= opReg31:
		return int(expr[0] - opReg0)
	case len(expr) == 2 && expr[0] == opRegX && expr[1] < 0x80:
		return int(expr[1])
	}
	return -1
}

// inOld returns the expression for an address from a list of .debug_loc.
func (l *locations) inOld(at int64, base, addr uint64) []byte {
	r := reader{l.old, l.order, int(at)}
	for {
		lo, hi := r.fixed(8), r.fixed(8)
		if lo == 0 && hi == 0 {
			return nil
		}
		if lo == 1<<64-1 {
			base = hi
			continue
		}
		expr := r.bytes(r.fixed(2))
		if addr >= base+lo && addr < base+hi {
			return expr
		}
	}
}

// Kinds of entries, DW_LLE_*; the last is GNU's.
const (
	lleEnd = iota
	lleBaseX
	lleStartXEndX
	lleStartXLength
	lleOffsets
	lleDefault
	lleBase
	lleStartEnd
	lleStartLength
	lleViews
)

// inLists returns the expression for an address from a list of .debug_loclists. The unit's
// addresses begin at first in .debug_addr.
func (l *locations) inLists(at int64, base, addr uint64, first int64) []byte {
	r := reader{l.lists, l.order, int(at)}
	indexed := func() uint64 {
		x := reader{l.addrs, l.order, int(first) + 8*int(r.uleb())}
		return x.fixed(8)
	}
	for {
		var lo, hi uint64
		switch r.fixed(1) {
		case lleBaseX:
			base = indexed()
			continue
		case lleBase:
			base = r.fixed(8)
			continue
		case lleViews:
			r.uleb()
			r.uleb()
			continue
		case lleStartXEndX:
			lo = indexed()
			hi = indexed()
		case lleStartXLength:
			lo = indexed()
			if l.gnu {
				hi = lo + r.fixed(4)
			} else {
				hi = lo + r.uleb()
			}
		case lleOffsets:
			lo = base + r.uleb()
			hi = base + r.uleb()
		case lleDefault:
			hi = 1<<64 - 1
		case lleStartEnd:
			lo, hi = r.fixed(8), r.fixed(8)
		case lleStartLength:
			lo = r.fixed(8)
			hi = lo + r.uleb()
		default: // the end, or an unknown entry
			return nil
		}
		size := uint64(0)
		if l.gnu {
			size = r.fixed(2)
		} else {
			size = r.uleb()
		}
		if expr := r.bytes(size); addr >= lo && addr < hi {
			return expr
		}
	}
}

// A reader reads numbers from a section; it panics at the end, which guard converts to
// an error.
type reader struct {
	b     []byte
	order binary.ByteOrder
	at    int
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		panic("a list of locations ends too early")
	}
	b := r.b[r.at : r.at+int(n)]
	r.at += int(n)
	return b
}

func (r *reader) fixed(n uint64) uint64 {
	b := r.bytes(n)
	switch n {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(r.order.Uint16(b))
	case 4:
		return uint64(r.order.Uint32(b))
	}
	return r.order.Uint64(b)
}

func (r *reader) uleb() uint64 {
	v, n := binary.Uvarint(r.b[r.at:])
	if n <= 0 {
		panic("a number of a list of locations has no end")
	}
	r.at += n
	return v
}
