package probe

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
)

// This file reads the notes that sys/sdt.h writes to a file for each
// DTRACE_PROBE. It must match SystemTap's note format, version 3.
//
//	Elf_Nhdr   namesz 8, descsz, type 3
//	name       "stapsdt\0"
//	desc       pc, base, semaphore (addresses), "provider\0", "name\0", "arguments\0"

// A Note is one place of a USDT probe. Several notes may have the same name.
type Note struct {
	Provider, Name string
	Args           string // "-4@%edi 8@(%rsi)"; empty if none
	Addr           uint64 // linked address of the nop instruction
	Base           uint64 // address of .stapsdt.base according to the note
	Semaphore      uint64 // address of the counter that switches the probe on, 0 if none
	Offset         uint64 // file offset of the nop
	SemOffset      uint64 // file offset of the semaphore, 0 if none

	Operands []operand // decoded Args

	machine elf.Machine
	bits    int
}

// fullName returns "provider:name".
func (n *Note) fullName() string { return n.Provider + ":" + n.Name }

const (
	noteType    = 3
	maxNotes    = 1 << 16
	noteSection = ".note.stapsdt"
)

var errNoNotes = errors.New("the file has no USDT probes (no section " + noteSection + ")")

// notes reads all notes of a file.
func (m *image) notes() ([]Note, error) {
	s := m.Section(noteSection)
	if s == nil {
		return nil, errNoNotes
	}
	data, err := m.SectionData(s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", noteSection, err)
	}
	list, err := parseNotes(data, m.File)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", noteSection, err)
	}
	var base uint64
	if b := m.Section(".stapsdt.base"); b != nil {
		base = b.Addr
	}
	for i := range list {
		n := &list[i]
		// prelink moves code and data, but does not update notes.
		if base != 0 && n.Base != 0 {
			n.Addr += base - n.Base
			if n.Semaphore != 0 {
				n.Semaphore += base - n.Base
			}
		}
		if n.Offset, err = m.codeOffset(n.Addr); err != nil {
			return nil, fmt.Errorf("%s at 0x%x: %w", n.fullName(), n.Addr, err)
		}
		if n.Semaphore != 0 {
			if n.SemOffset, err = m.offset(n.Semaphore, elf.PF_W); err != nil {
				return nil, fmt.Errorf("semaphore of %s: %w", n.fullName(), err)
			}
		}
		n.Operands = parseOperands(n.Args, n.machine, m.symbolAddress)
	}
	return list, nil
}

// parseNotes splits the section into notes.
func parseNotes(data []byte, f *elf.File) ([]Note, error) {
	word := 8
	if f.Class == elf.ELFCLASS32 {
		word = 4
	}
	order := f.ByteOrder
	var list []Note
	for at := 0; at < len(data); {
		if len(data)-at < 12 {
			return nil, fmt.Errorf("note at %d is cut off", at)
		}
		nameSize, descSize := uint64(order.Uint32(data[at:])), uint64(order.Uint32(data[at+4:]))
		typ := order.Uint32(data[at+8:])
		rest := data[at+12:]
		if align4(nameSize)+align4(descSize) > uint64(len(rest)) &&
			align4(nameSize)+descSize > uint64(len(rest)) {
			return nil, fmt.Errorf("note at %d is cut off", at)
		}
		name, desc := rest[:nameSize], rest[align4(nameSize):align4(nameSize)+descSize]
		at += 12 + int(align4(nameSize)+align4(descSize))
		if typ != noteType || string(name) != "stapsdt\x00" {
			continue
		}
		n, err := parseNote(desc, word, f)
		if err != nil {
			return nil, err
		}
		if list = append(list, n); len(list) > maxNotes {
			return nil, fmt.Errorf("more than %d notes", maxNotes)
		}
	}
	return list, nil
}

func align4(n uint64) uint64 { return (n + 3) &^ 3 }

func parseNote(desc []byte, word int, f *elf.File) (Note, error) {
	n := Note{machine: f.Machine, bits: 8 * word}
	if len(desc) < 3*word {
		return n, errors.New("a note has no addresses")
	}
	addr := func(i int) uint64 {
		if word == 4 {
			return uint64(f.ByteOrder.Uint32(desc[4*i:]))
		}
		return f.ByteOrder.Uint64(desc[8*i:])
	}
	n.Addr, n.Base, n.Semaphore = addr(0), addr(1), addr(2)
	texts := bytes.SplitN(desc[3*word:], []byte{0}, 4)
	if len(texts) < 4 {
		return n, errors.New("a note's texts do not end")
	}
	n.Provider, n.Name, n.Args = string(texts[0]), string(texts[1]), string(texts[2])
	if n.Provider == "" || n.Name == "" {
		return n, errors.New("a note has no name")
	}
	if n.Args == ":" {
		n.Args = "" // DTrace's mark for "unknown"
	}
	return n, nil
}

// symbolAddress finds a variable that an operand names, relative to the
// instruction pointer.
func (m *image) symbolAddress(name string) (uint64, bool) {
	for _, read := range []func() ([]elf.Symbol, error){m.Symbols, m.DynamicSymbols} {
		syms, err := read()
		if err != nil {
			continue
		}
		for _, s := range syms {
			if s.Name == name && s.Section != elf.SHN_UNDEF {
				return s.Value, true
			}
		}
	}
	return 0, false
}
