package symbol

import (
	"debug/elf"
	"debug/gosym"
	"fmt"

	"ppscript/runtime/stack/dso"
)

// GoTable is the section .gopclntab, which every Go program has, stripped or
// not, and the address that it counts functions from. Nil if the file has none.
func GoTable(im *dso.Image) (table []byte, start uint64, err error) {
	section := im.Section(".gopclntab")
	if section == nil {
		section = im.Section(".data.rel.ro.gopclntab")
	}
	text := im.Section(".text")
	if section == nil || text == nil {
		return nil, 0, nil
	}
	data, err := im.SectionData(section)
	if err != nil {
		return nil, 0, fmt.Errorf("section %s: %w", section.Name, err)
	}
	return data, textStart(im, data, text), nil
}

// goLines reads the table: the program's functions, and the line of each
// address. Nil if the file has none.
func goLines(im *dso.Image) (table *gosym.Table, err error) {
	data, start, err := GoTable(im)
	if data == nil || err != nil {
		return nil, err
	}
	if err := modestGoTable(im.ByteOrder, data); err != nil {
		return nil, err
	}
	// gosym trusts its input.
	defer func() {
		if r := recover(); r != nil {
			table, err = nil, fmt.Errorf("section .gopclntab: damaged: %v", r)
		}
	}()
	return gosym.NewTable(nil, gosym.NewLineTable(data, start))
}

// textStart is the address that the table counts from, the symbol
// runtime.text. Programs with C in them have other code in front of it; up to
// Go 1.25 the header tells it, unless the program is relocatable.
func textStart(im *dso.Image, data []byte, text *elf.Section) uint64 {
	const at = 8 + 2*8 // magic, sizes; number of functions, number of files
	if im.Class == elf.ELFCLASS64 && len(data) >= at+8 {
		if start := im.ByteOrder.Uint64(data[at:]); start >= text.Addr && start-text.Addr < text.Size {
			return start
		}
	}
	return text.Addr
}
