package symbol

import (
	"bytes"
	"debug/elf"

	"ppscript/runtime/stack/dso"
)

// This file names the stubs through which a program calls its libraries (the
// PLT). They have no symbols; the n-th stub belongs to the n-th entry of
// .rela.plt.

func (b *builder) plt(im *dso.Image) error {
	rela := im.Section(".rela.plt")
	dynsym := im.SectionByType(elf.SHT_DYNSYM)
	if rela == nil || dynsym == nil || im.Class != elf.ELFCLASS64 || int(dynsym.Link) >= len(im.Sections) {
		return nil
	}
	stubs, head, each := im.Section(".plt.sec"), uint64(0), uint64(16)
	if stubs == nil {
		stubs, head = im.Section(".plt"), 16
		if im.Machine == elf.EM_AARCH64 {
			head = 32
		}
	}
	if stubs == nil || im.Machine != elf.EM_X86_64 && im.Machine != elf.EM_AARCH64 {
		return nil
	}
	relocs, err := im.SectionData(rela)
	if err != nil {
		return err
	}
	syms, err := im.SectionData(dynsym)
	if err != nil {
		return err
	}
	names, err := im.SectionData(im.Sections[dynsym.Link])
	if err != nil {
		return err
	}
	count := uint64(len(relocs) / 24)
	// Stubs with landing pads (arm64 BTI) have 24 bytes.
	if count > 0 && stubs.Size >= head+24*count && im.Machine == elf.EM_AARCH64 {
		each = 24
	}
	order := im.ByteOrder
	var name []byte
	for i := uint64(0); i < count; i++ {
		at := head + i*each
		if at+each > stubs.Size {
			break
		}
		sym := order.Uint64(relocs[24*i+8:]) >> 32
		name = append(name[:0], "*"...) // an IRELATIVE entry has no symbol
		if sym != 0 && 24*sym+24 <= uint64(len(syms)) {
			from := uint64(order.Uint32(syms[24*sym:]))
			if from >= uint64(len(names)) {
				continue
			}
			text := names[from:]
			if n := bytes.IndexByte(text[:min(len(text), maxName-8)], 0); n > 0 {
				name = append(name[:0], text[:n]...)
			}
		}
		b.add(append(name, "@plt"...), stubs.Addr+at, each, stubs.Addr+stubs.Size, rankPLT)
	}
	return nil
}
