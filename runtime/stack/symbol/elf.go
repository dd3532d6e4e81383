package symbol

import (
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
	"slices"

	"ppscript/runtime/stack/dso"
)

// This file reads functions from ELF symbol tables. The reader of debug/elf
// makes a string and a struct for each symbol, which takes seconds for a large
// program. Here the bytes are scanned, and only functions are kept.

// ranks of symbols at one address, the best first.
const (
	rankGlobal = iota
	rankLocal
	rankWeak
	rankNoSize // a label
	rankPLT
)

// elfSymbols adds the functions of one table, SHT_SYMTAB or SHT_DYNSYM. If a table
// has more than there is room for, it adds the first ones and returns an error.
func (b *builder) elfSymbols(im *dso.Image, typ elf.SectionType) error {
	section := im.SectionByType(typ)
	if section == nil || int(section.Link) >= len(im.Sections) {
		return nil
	}
	each := 24 // struct Elf64_Sym
	if im.Class == elf.ELFCLASS32 {
		each = 16
	}
	t := symtab{im: im, builder: b, bytes: section.FileSize, each: each, first: len(b.syms)}
	fault := im.Pieces(section, maxSymtab, t.symbols)
	return errors.Join(fault, t.names(im.Sections[section.Link]))
}

// maxSymtab bounds the bytes that are read of a symbol table, and of its names.
const maxSymtab = 256 << 20

// A symtab is a table that is being read. The functions are read first, without
// names: rawSym.at is the offset of the name in the section of names. Then the
// names are read in the order of their offsets.
type symtab struct {
	im      *dso.Image
	builder *builder
	bytes   uint64 // size of the whole table
	each    int
	rest    []byte // the begin of an entry that the next piece completes
	next    uint64 // offset of the next piece, if there is no hole before it
	first   int    // in builder.syms
}

// symbols reads a piece of the table.
func (t *symtab) symbols(at uint64, piece []byte) error {
	if at != t.next {
		t.rest = t.rest[:0] // a hole
		piece = piece[min(len(piece), int((uint64(t.each)-at%uint64(t.each))%uint64(t.each))):]
	}
	t.next = at + uint64(len(piece))
	if len(t.rest) > 0 {
		n := min(t.each-len(t.rest), len(piece))
		t.rest = append(t.rest, piece[:n]...)
		piece = piece[n:]
		if len(t.rest) < t.each {
			return nil
		}
		if err := t.symbol(t.rest); err != nil {
			return err
		}
	}
	for ; len(piece) >= t.each; piece = piece[t.each:] {
		if err := t.symbol(piece); err != nil {
			return err
		}
	}
	t.rest = append(t.rest[:0], piece...)
	return nil
}

// symbol adds an entry if it is a function.
func (t *symtab) symbol(sym []byte) error {
	im, order := t.im, t.im.ByteOrder
	var info byte
	var index uint16
	var addr, size uint64
	if t.each == 24 {
		info, index = sym[4], order.Uint16(sym[6:])
		addr, size = order.Uint64(sym[8:]), order.Uint64(sym[16:])
	} else {
		info, index = sym[12], order.Uint16(sym[14:])
		addr, size = uint64(order.Uint32(sym[4:])), uint64(order.Uint32(sym[8:]))
	}
	kind, bind := elf.SymType(info&15), elf.SymBind(info>>4)
	if index == uint16(elf.SHN_UNDEF) || index >= uint16(elf.SHN_LORESERVE) ||
		int(index) >= len(im.Sections) {
		return nil
	}
	in := im.Sections[index]
	code := in.Flags&elf.SHF_EXECINSTR != 0
	label := kind == elf.STT_NOTYPE && code
	if kind != elf.STT_FUNC && kind != elf.STT_GNU_IFUNC && !label {
		return nil
	}
	if im.Machine == elf.EM_ARM {
		addr &^= 1 // Thumb
	}
	rank := uint8(rankLocal)
	switch {
	case label || size == 0:
		rank = rankNoSize
	case bind == elf.STB_GLOBAL:
		rank = rankGlobal
	case bind == elf.STB_WEAK:
		rank = rankWeak
	}
	b := t.builder
	if len(b.syms) >= maxFuncs {
		return &dso.TooLarge{Subject: "symbols", Bytes: t.bytes, Most: uint64(maxFuncs * t.each)}
	}
	b.syms = append(b.syms, rawSym{addr: addr, end: in.Addr + in.Size, size: bytes32(size),
		at: order.Uint32(sym), seq: uint32(len(b.syms)), rank: rank,
		label: label, indirect: kind == elf.STT_GNU_IFUNC})
	return nil
}

// names reads the names of the added symbols, and removes symbols without a name.
func (t *symtab) names(section *elf.Section) error {
	b := t.builder
	fresh := b.syms[t.first:]
	slices.SortFunc(fresh, func(x, y rawSym) int { return cmp.Compare(x.at, y.at) })
	n := names{builder: b, todo: fresh}
	fault := t.im.Pieces(section, maxSymtab, n.piece)
	if n.done {
		fault = nil
	}
	b.syms = slices.DeleteFunc(b.syms, func(s rawSym) bool { return s.long == 0 })
	return fault
}

// A names reads names from a section, piece by piece.
type names struct {
	builder *builder
	todo    []rawSym // symbols without a name so far, in the order of their names
	last    []byte   // the begin of a name that the next piece completes
	next    uint64
	done    bool
}

var errNamed = errors.New("all have names")

func (n *names) piece(at uint64, piece []byte) error {
	text := piece
	if at == n.next && len(n.last) > 0 {
		text = append(n.last, piece...)
		at -= uint64(len(n.last))
	}
	n.next = at + uint64(len(text))
	n.last = n.last[:0]
	for len(n.todo) > 0 {
		s := &n.todo[0]
		if uint64(s.at) >= n.next {
			return nil
		}
		if uint64(s.at) >= at { // else it is in a hole
			name := text[uint64(s.at)-at:]
			end := bytes.IndexByte(name[:min(len(name), maxName+1)], 0)
			if end < 0 && len(name) <= maxName {
				n.last = append([]byte(nil), name...)
				return nil
			}
			if end > 0 && !n.builder.name(s, name[:end]) {
				n.todo = nil
				return &dso.TooLarge{Subject: "names of symbols", Bytes: n.next, Most: maxText}
			}
		}
		n.todo = n.todo[1:]
	}
	n.done = true
	return errNamed
}

// name sets the name of a symbol, unless it is not the name of a function. It
// returns false if there is no more room for names.
func (b *builder) name(s *rawSym, name []byte) bool {
	if s.label && (name[0] == '$' || bytes.HasPrefix(name, []byte(".L"))) {
		return true // marks of the assembler: $x is code, $d data
	}
	// A name with a version, memcpy@@GLIBC_2.14, is the same function.
	if n := bytes.IndexByte(name, '@'); n > 0 {
		name = name[:n]
	}
	if len(b.names)+len(name) > maxText {
		return false
	}
	s.at, s.long = uint32(len(b.names)), uint16(len(name))
	b.names = append(b.names, name...)
	return true
}
