package symbol

import (
	"bytes"
	"debug/elf"

	"ppscript/runtime/object"
)

// This file reads functions out of ELF symbol tables. debug/elf's own reader
// makes a string and a struct of each symbol, which costs seconds on a large
// program; here the bytes are walked, and only functions are kept.

// ranks of symbols at one address, the best first.
const (
	rankGlobal = iota
	rankLocal
	rankWeak
	rankNoSize // a label
	rankPLT
)

// elfSymbols adds the functions of one table, SHT_SYMTAB or SHT_DYNSYM.
func (b *builder) elfSymbols(im *object.Image, typ elf.SectionType) error {
	section := im.SectionByType(typ)
	if section == nil || int(section.Link) >= len(im.Sections) {
		return nil
	}
	syms, err := im.SectionData(section)
	if err != nil {
		return err
	}
	names, err := im.SectionData(im.Sections[section.Link])
	if err != nil {
		return err
	}
	each := 24 // struct Elf64_Sym
	if im.Class == elf.ELFCLASS32 {
		each = 16
	}
	order := im.ByteOrder
	for ; len(syms) >= each; syms = syms[each:] {
		var info, other byte
		var index uint16
		var addr, size uint64
		if each == 24 {
			info, other, index = syms[4], syms[5], order.Uint16(syms[6:])
			addr, size = order.Uint64(syms[8:]), order.Uint64(syms[16:])
		} else {
			info, other, index = syms[12], syms[13], order.Uint16(syms[14:])
			addr, size = uint64(order.Uint32(syms[4:])), uint64(order.Uint32(syms[8:]))
		}
		_ = other
		kind, bind := elf.SymType(info&15), elf.SymBind(info>>4)
		if index == uint16(elf.SHN_UNDEF) || index >= uint16(elf.SHN_LORESERVE) || int(index) >= len(im.Sections) {
			continue
		}
		in := im.Sections[index]
		code := in.Flags&elf.SHF_EXECINSTR != 0
		label := kind == elf.STT_NOTYPE && code
		if kind != elf.STT_FUNC && kind != elf.STT_GNU_IFUNC && !label {
			continue
		}
		at := uint64(order.Uint32(syms))
		if at >= uint64(len(names)) {
			continue
		}
		name := names[at:]
		if n := bytes.IndexByte(name[:min(len(name), maxName+1)], 0); n >= 0 {
			name = name[:n]
		}
		if label && (len(name) > 0 && name[0] == '$' || bytes.HasPrefix(name, []byte(".L"))) {
			continue // marks of the assembler: $x is code, $d data
		}
		if im.Machine == elf.EM_ARM {
			addr &^= 1 // Thumb
		}
		// A table of versions, memcpy@@GLIBC_2.14, names the same function.
		if n := bytes.IndexByte(name, '@'); n > 0 {
			name = name[:n]
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
		b.add(name, addr, size, in.Addr+in.Size, rank)
	}
	return nil
}
