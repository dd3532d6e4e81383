package symbol

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
)

// This file keeps the functions of one file: three sorted arrays and one blob
// of names, 20 bytes and the name for each. Names stay as the linker wrote
// them; they are demangled when they are asked for, since a program has a
// hundred times the functions that a profile meets.

// A Table is the functions of a file by address. It does not change once
// sorted, and may be shared.
type Table struct {
	addr  []uint64 // as the file's own tables count
	size  []uint32 // bytes
	name  []uint32 // where the name starts in names
	long  []uint16 // bytes of the name
	names []byte
}

// A Func is one function of a Table.
type Func struct {
	Name string // as the linker knows it
	Addr uint64
	Size uint64 // bytes
	// Functions tells more. An indirect function chooses another one when a program is linked, which is
	// called in its place. A label has no size of its own: nothing says that it is code rather than data.
	Indirect, Label bool
}

// maxName bounds a name, maxFuncs the functions of a file, maxText the bytes of
// their names: a browser has some 700,000 with 60 MB of names.
const (
	maxName  = math.MaxUint16
	maxFuncs = 1 << 20
	maxText  = 48 << 20
)

// Len is the number of functions.
func (t *Table) Len() int { return len(t.addr) }

// Bytes is the memory that the table takes.
func (t *Table) Bytes() int { return 18*len(t.addr) + len(t.names) }

// At returns function i, 0 having the lowest address.
func (t *Table) At(i int) Func {
	return Func{Name: string(t.nameOf(i)), Addr: t.addr[i], Size: uint64(t.size[i])}
}

func (t *Table) nameOf(i int) []byte {
	at := t.name[i]
	return t.names[at : at+uint32(t.long[i])]
}

// Find returns the function that contains addr. Functions may lie inside
// others: the innermost counts.
func (t *Table) Find(addr uint64) (int, bool) {
	lo, hi := 0, len(t.addr)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if t.addr[mid] <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	// Cold parts and labels are small and few inside a function.
	for i := lo - 1; i >= 0 && i >= lo-32; i-- {
		if addr-t.addr[i] < uint64(t.size[i]) {
			return i, true
		}
	}
	return 0, false
}

// A builder collects the symbols of a file, from several tables.
type builder struct {
	syms  []rawSym
	names []byte
	late  bool // of symbols at one address the least seq is taken
}

// rawSym is a symbol before sorting.
type rawSym struct {
	addr  uint64
	end   uint64 // of the section, which bounds a symbol without a size
	size  uint32 // bytes
	at    uint32 // of the name in names
	seq   uint32 // in the order of the file
	long  uint16
	rank  uint8 // of several at an address the lowest rank is taken
	label bool  // rather than a function

	indirect bool // as in Func
}

// bytes32 is a size as a table keeps it.
func bytes32(size uint64) uint32 { return uint32(min(size, math.MaxUint32)) }

// builders keeps the room of builders from one file to the next, until the
// garbage collector comes by.
var builders = sync.Pool{New: func() any { return new(builder) }}

// mostRoom bounds the room that is kept, in bytes.
const mostRoom = 16 << 20

// recycle gives b back, unless it has grown for a file as few are.
func (b *builder) recycle() {
	if cap(b.names) > mostRoom || cap(b.syms) > mostRoom/64 {
		return
	}
	b.syms, b.names = b.syms[:0], b.names[:0]
	builders.Put(b)
}

// add takes a function. It returns false if there is no room for more.
func (b *builder) add(name []byte, addr, size, end uint64, rank uint8) bool {
	if len(name) == 0 || len(name) > maxName || len(b.names)+len(name) > maxText || len(b.syms) >= maxFuncs {
		return len(name) == 0 || len(name) > maxName
	}
	b.syms = append(b.syms, rawSym{addr: addr, end: end, size: bytes32(size), at: uint32(len(b.names)),
		seq:  uint32(len(b.syms)),
		long: uint16(len(name)), rank: rank})
	b.names = append(b.names, name...)
	return true
}

func (b *builder) text(s *rawSym) []byte { return b.names[s.at : s.at+uint32(s.long)] }

// table sorts the added functions, takes one name for each address, and gives
// sizes to those without.
func (b *builder) table() *Table {
	b.sort()
	kept := b.syms[:0]
	names := 0
	for i := range b.syms {
		if n := len(kept); n > 0 && kept[n-1].addr == b.syms[i].addr {
			if !b.late {
				kept[n-1].size = max(kept[n-1].size, b.syms[i].size)
			}
			continue
		}
		kept = append(kept, b.syms[i])
		names += int(b.syms[i].long)
	}
	n := len(kept)
	t := &Table{
		addr: make([]uint64, n), size: make([]uint32, n), name: make([]uint32, n), long: make([]uint16, n),
		names: make([]byte, 0, names),
	}
	for i := range kept {
		s := &kept[i]
		if s.size == 0 {
			end := s.end
			if i+1 < n && kept[i+1].addr < end {
				end = kept[i+1].addr
			}
			if end > s.addr {
				s.size = bytes32(end - s.addr)
			}
		}
		t.addr[i], t.size[i] = s.addr, s.size
		t.name[i], t.long[i] = uint32(len(t.names)), s.long
		t.names = append(t.names, b.text(s)...)
	}
	return t
}

// sort orders the functions by address, and those of one address with the name to show first.
func (b *builder) sort() {
	slices.SortFunc(b.syms, func(x, y rawSym) int {
		if c := cmp.Compare(x.addr, y.addr); c != 0 {
			return c
		}
		if c := cmp.Compare(x.rank, y.rank); c != 0 {
			return c
		}
		if b.late {
			return cmp.Compare(x.seq, y.seq)
		}
		return b.prefer(&x, &y)
	})
}

// prefer decides between two names of equal rank: fewer underscores in front,
// then the longer one, which says more, then the first in the
// file. Types of Rust have one letter when mangled: there the plain names are
// compared.
func (b *builder) prefer(x, y *rawSym) int {
	p, q := string(b.text(x)), string(b.text(y))
	if c := cmp.Compare(underscores(p), underscores(q)); c != 0 {
		return c
	}
	if strings.HasPrefix(p, "_R") && strings.HasPrefix(q, "_R") {
		p, q = Demangle(p), Demangle(q)
	}
	if c := cmp.Compare(len(q), len(p)); c != 0 {
		return c
	}
	return cmp.Compare(x.seq, y.seq)
}

func underscores(s string) int { return len(s) - len(strings.TrimLeft(s, "_")) }
