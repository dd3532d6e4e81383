package unwind

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"slices"

	"ppscript/runtime/stack/dso"
)

// This file reads the section .sframe, which has the rules of .eh_frame in a form for simple
// look-ups, but only for the CFA, the return address and the frame pointer. It is described in "The
// SFrame format" of the GNU binutils; versions 1 (binutils 2.40) and 2 are supported.

const (
	sframeMagic  = 0xdee2
	sframeHeader = 28

	sframePCRelative = 4 // flag: the begin of a function is relative to its own field, not to the section

	sframeARM64 = 2 // little-endian
	sframeAMD64 = 3

	maxSframeRows = 1 << 22
)

// sframe is a section.
type sframe struct {
	arch    *arch
	data    []byte
	addr    uint64 // of the section
	version uint8
	flags   uint8
	fixedFP int8 // offset of the frame pointer in all frames; 0 means none
	fixedRA int8
	fdes    []byte // functions
	fres    []byte // their rows
	rows    int
}

// sframeSection returns the section of a file, found by the program headers if there are no section
// headers.
func sframeSection(im *dso.Image) (data []byte, addr uint64) {
	if s := im.Section(".sframe"); s != nil {
		if data, err := im.SectionData(s); err == nil {
			return data, s.Addr
		}
		return nil, 0
	}
	const gnuSframe = elf.ProgType(0x6474e554)
	for _, p := range im.Progs {
		if p.Type == gnuSframe && p.Filesz <= dso.MaxSection {
			return im.Bytes(p.Vaddr, int(p.Filesz)), p.Vaddr
		}
	}
	return nil, 0
}

// sframeRules returns the rules of a file; nil if it has none.
func sframeRules(im *dso.Image) (*ruleTable, error) {
	data, addr := sframeSection(im)
	a := archOf(im.Machine)
	if len(data) == 0 || a == nil {
		return nil, nil
	}
	return parseSframe(a, data, addr)
}

// parseSframe makes rules from a section's bytes.
func parseSframe(a *arch, data []byte, addr uint64) (*ruleTable, error) {
	if len(data) < sframeHeader || le.Uint16(data) != sframeMagic {
		return nil, errors.New("section .sframe: no header of a little-endian machine")
	}
	s := &sframe{arch: a, data: data, addr: addr, version: data[2], flags: data[3], fixedFP: int8(data[5]),
		fixedRA: int8(data[6])}
	machine := map[uint8]elf.Machine{sframeARM64: elf.EM_AARCH64, sframeAMD64: elf.EM_X86_64}[data[4]]
	switch {
	case s.version != 1 && s.version != 2:
		return nil, fmt.Errorf("section .sframe: got version %d, want 1 or 2", s.version)
	case machine != a.machine:
		return nil, fmt.Errorf("section .sframe: got machine %d", data[4])
	}
	head := sframeHeader + int(data[7])
	part := func(off uint32) []byte {
		if at := uint64(head) + uint64(off); at <= uint64(len(data)) {
			return data[at:]
		}
		return nil
	}
	s.fdes, s.fres = part(le.Uint32(data[20:])), part(le.Uint32(data[24:]))
	return s.table(int(le.Uint32(data[8:])))
}

// sframeFunction is a function with its rows.
type sframeFunction struct {
	start      uint64
	size       uint32
	fres, n    uint32 // offset and number of its rows
	info, step uint8  // size of a repeated block
}

// entry returns the size of the entry of a function.
func (s *sframe) entry() int {
	if s.version == 1 {
		return 17
	}
	return 20
}

// table makes the rows of all functions.
func (s *sframe) table(n int) (*ruleTable, error) {
	size := s.entry()
	if n <= 0 || n > len(s.fdes)/size {
		return nil, fmt.Errorf("section .sframe: got %d functions, more than it has room for", n)
	}
	list := make([]sframeFunction, min(n, maxFDEs))
	base := s.addr + uint64(len(s.data)-len(s.fdes))
	for i := range list {
		b := s.fdes[i*size:]
		f := sframeFunction{size: le.Uint32(b[4:]), fres: le.Uint32(b[8:]), n: le.Uint32(b[12:]), info: b[16],
			step: 16}
		if s.version > 1 {
			f.step = b[17]
		}
		from := s.addr
		if s.flags&sframePCRelative != 0 {
			from = base + uint64(i*size)
		}
		f.start = from + uint64(int64(int32(le.Uint32(b))))
		list[i] = f
	}
	slices.SortFunc(list, func(a, b sframeFunction) int { return cmp.Compare(a.start, b.start) })
	b := newTableBuilder(list[0].start)
	for i := range list {
		s.function(b, &list[i])
	}
	return b.table(), nil
}

// function makes the rows of one function. Its code may be a repetition of equal blocks, as in a
// procedure linkage table.
func (s *sframe) function(b *tableBuilder, f *sframeFunction) {
	blocks, step := uint64(1), uint64(f.size)
	if f.info>>4&1 == 1 && f.step > 0 {
		step = uint64(f.step)
		blocks = (uint64(f.size) + step - 1) / step
	}
	for i := range blocks {
		if !s.block(b, f, f.start+i*step, min((i+1)*step, uint64(f.size))-i*step) {
			break
		}
	}
	b.row(f.start+uint64(f.size), noRules)
}

// block makes the rows of a function or block that begins at an address. A damaged one ends early;
// the code after that has no rules, which is better than wrong ones. A block counts as a row, since
// it takes time even without rows, and 20 bytes can declare 4 billion blocks.
func (s *sframe) block(b *tableBuilder, f *sframeFunction, start, size uint64) bool {
	width := 1 << (f.info & 0xf)
	if s.rows++; width > 4 || uint64(f.fres) > uint64(len(s.fres)) || s.rows > maxSframeRows {
		b.row(start, noRules)
		return false
	}
	c := cursor{b: s.fres, at: int(f.fres)}
	for range f.n {
		at := uint64(c.unsigned(width))
		info := c.u8()
		set, ok := s.set(b, &c, info)
		if s.rows++; c.bad || !ok || s.rows > maxSframeRows {
			b.row(start+min(at, size), noRules)
			return false
		}
		if at < size {
			b.row(start+at, set)
		}
	}
	return true
}

// set reads the rules of a row.
func (s *sframe) set(b *tableBuilder, c *cursor, info uint8) (uint32, bool) {
	n, width := int(info>>1&0xf), 1<<(info>>5&3)
	if n > 3 || width > 4 {
		return noRules, false
	}
	offsets := make([]int32, 0, 3)
	for range n {
		offsets = append(offsets, c.signed(width))
	}
	ra := s.arch.lr
	if s.arch.machine == elf.EM_X86_64 {
		ra = s.arch.pc
	}
	st := state{cfaReg: s.arch.fp, cfaSet: true}
	if info&1 != 0 {
		st.cfaReg = s.arch.sp
	}
	if n == 0 { // the outermost function
		st.cfaReg = s.arch.sp
		st.set(ra, regRule{kind: undefined})
		return b.set(&st, ra, false), true
	}
	st.cfaOff, offsets = offsets[0], offsets[1:]
	if s.fixedRA != 0 {
		st.set(ra, regRule{kind: atOffset, off: int32(s.fixedRA)})
	} else if len(offsets) > 0 {
		st.set(ra, regRule{kind: atOffset, off: offsets[0]})
		offsets = offsets[1:]
	}
	if s.fixedFP != 0 {
		st.set(s.arch.fp, regRule{kind: atOffset, off: int32(s.fixedFP)})
	} else if len(offsets) > 0 {
		st.set(s.arch.fp, regRule{kind: atOffset, off: offsets[0]})
	}
	return b.set(&st, ra, false), true
}

// unsigned reads a number of 1, 2 or 4 bytes.
func (c *cursor) unsigned(width int) uint32 {
	switch width {
	case 1:
		return uint32(c.u8())
	case 2:
		return uint32(c.u16())
	}
	return c.u32()
}

func (c *cursor) signed(width int) int32 {
	shift := 32 - 8*width
	return int32(c.unsigned(width)<<shift) >> shift
}
