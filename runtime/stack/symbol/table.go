package symbol

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
)

// This file keeps the functions of one file in sorted arrays and one blob of
// names, with 20 bytes and the name for each. Names are kept in the linker's
// form and demangled when they are needed, since a program has a hundred times
// the functions that occur in a profile.

// A Table has the functions of a file by address. It does not change once
// sorted, and may be shared.
type Table struct {
	addr  []uint64 // addresses in the file's own tables
	size  []uint32 // bytes
	name  []uint32 // offset of the name in names
	long  []uint16 // bytes of the name
	names []byte
}

// A Func is one function of a Table.
type Func struct {
	Name string // the linker's name
	Addr uint64
	Size uint64 // bytes
	// Set by Functions only. An indirect function chooses, when the program is linked, another
	// function that is called in its place. A label has no size, so that it may be data instead of
	// code.
	Indirect, Label bool
}

// maxName bounds a name, maxFuncs the functions of a file, maxText the bytes of
// their names: a browser has some 700,000 functions with 60 MB of names.
const (
	maxName  = math.MaxUint16
	maxFuncs = 1 << 20
	maxText  = 48 << 20
)

// Len is the number of functions.
func (t *Table) Len() int { return len(t.addr) }

// Bytes is the memory of the table.
func (t *Table) Bytes() int { return 18*len(t.addr) + len(t.names) }

// At returns function i; function 0 has the lowest address.
func (t *Table) At(i int) Func {
	return Func{Name: string(t.nameOf(i)), Addr: t.addr[i], Size: uint64(t.size[i])}
}

func (t *Table) nameOf(i int) []byte {
	at := t.name[i]
	return t.names[at : at+uint32(t.long[i])]
}

// Find returns the function that contains addr, the innermost one if functions
// are nested.
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
	late  bool // of symbols at one address, take the one with the lowest seq
}

// rawSym is a symbol before sorting.
type rawSym struct {
	addr  uint64
	end   uint64 // end of the section, which bounds a symbol without a size
	size  uint32 // bytes
	at    uint32 // offset of the name in names
	seq   uint32 // in the order of the file
	long  uint16
	rank  uint8 // of several symbols at an address, the lowest rank is taken
	label bool  // it is a label, not a function

	indirect bool // as in Func
}

// bytes32 converts a size to the form in a Table.
func bytes32(size uint64) uint32 { return uint32(min(size, math.MaxUint32)) }

// builders keeps builders and their memory for the next file, until the next
// garbage collection.
var builders = sync.Pool{New: func() any { return new(builder) }}

// mostRoom bounds the memory of a kept builder, in bytes.
const mostRoom = 16 << 20

// recycle keeps b for reuse, unless it has grown too large.
func (b *builder) recycle() {
	if cap(b.names) > mostRoom || cap(b.syms) > mostRoom/64 {
		return
	}
	b.syms, b.names = b.syms[:0], b.names[:0]
	builders.Put(b)
}

// add adds a function. It returns false if there is no room for more.
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

// table sorts the added functions, chooses one name for each address, and sets
// missing sizes.
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

// sort orders the functions by address; of several at one address, the name to show is first.
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

// prefer decides between two names of equal rank: the one with fewer leading
// underscores, then the longer one, then the first in the file. For Rust the
// demangled names are compared, since mangled types may have one letter.
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
