package symbol

import (
	"debug/elf"
	"debug/gosym"
	"fmt"

	"ppscript/runtime/stack/dso"
)

// GoTable returns the section .gopclntab, which every Go program has, also if
// stripped, and the base address of its functions. Nil if the file has none.
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

// goLines reads the table, which has the program's functions and the line of
// each address. Nil if the file has none.
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

// textStart is the base address of the table, the symbol runtime.text. In
// programs with C code, other code is before it. Up to Go 1.25 the header has
// it, unless the program is relocatable.
func textStart(im *dso.Image, data []byte, text *elf.Section) uint64 {
	const at = 8 + 2*8 // magic, sizes; number of functions, number of files
	if im.Class == elf.ELFCLASS64 && len(data) >= at+8 {
		if start := im.ByteOrder.Uint64(data[at:]); start >= text.Addr && start-text.Addr < text.Size {
			return start
		}
	}
	return text.Addr
}
