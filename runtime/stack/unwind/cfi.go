package unwind

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// This file reads .eh_frame and .debug_frame (DWARF 5, 6.4; the LSB describes
// the differences of .eh_frame). A section is a list of CIEs, which have the
// common parts of several functions, and FDEs, one for each function, which
// refer to a CIE. Both end in a small program that makes the rows of a table.

// A section has the bytes of call frame information.
type section struct {
	Data  []byte
	Addr  uint64 // address of Data in the image
	Debug bool   // .debug_frame, not .eh_frame
	// Word is the size of an address in bytes; 0 means 8.
	Word int
	// Base is the base address of data-relative pointers, usually the address
	// of .eh_frame_hdr.
	Base uint64
}

// A cie holds the common parts of several functions.
type cie struct {
	codeAlign uint64
	dataAlign int64
	ra        uint8
	encoding  uint8 // encoding of addresses in FDEs
	augmented bool  // FDEs have a size of augmentation data
	signal    bool
	program   []byte
	addrSize  int
}

// An fde is one function.
type fde struct {
	start, end uint64
	cie        *cie
	program    []byte
}

// maxFDEs bounds the functions of a section: a browser has 700,000.
const maxFDEs = 1 << 20

// parseCFI reads a section. Damaged entries are left out; a section without a
// valid entry is an error.
func parseCFI(s section) (*ruleTable, error) {
	if s.Word == 0 {
		s.Word = 8
	}
	fdes, fault := s.fdes()
	if len(fdes) == 0 {
		if fault == nil {
			fault = errors.New("no entries")
		}
		return nil, fault
	}
	slices.SortStableFunc(fdes, func(a, b fde) int { return cmp.Compare(a.start, b.start) })
	b := newTableBuilder(fdes[0].start)
	m := machine{build: b}
	for i := range fdes {
		m.function(&fdes[i])
	}
	return b.table(), nil
}

// fdes walks the section.
func (s *section) fdes() (found []fde, fault error) {
	cies := map[uint64]*cie{}
	c := cursor{b: s.Data}
	for c.remaining() >= 4 && len(found) < maxFDEs {
		start := uint64(c.at)
		length, wide := uint64(c.u32()), false
		if length == 0 {
			if s.Debug {
				continue
			}
			break // the terminator
		}
		if length == 0xffffffff {
			length, wide = c.u64(), true
		}
		if c.bad || length > uint64(c.remaining()) {
			return found, fmt.Errorf("entry at %#x: got %d bytes, more than the section has", start, length)
		}
		body := cursor{b: c.b[:c.at+int(length)], at: c.at}
		c.at += int(length)
		idAt := uint64(body.at)
		id := uint64(body.u32())
		if wide && s.Debug {
			body.at -= 4
			id = body.u64()
		}
		isCIE := id == 0
		if s.Debug {
			isCIE = id == 0xffffffff && !wide || id == 1<<64-1
		}
		if isCIE {
			one, err := s.cie(&body)
			if err != nil {
				fault = fmt.Errorf("entry at %#x: %w", start, err)
				continue
			}
			cies[start] = one
			continue
		}
		of := id
		if !s.Debug {
			of = idAt - id // the number is the distance back from its own position
		}
		if one := cies[of]; one != nil {
			if f, ok := s.fde(&body, one); ok {
				found = append(found, f)
			}
		}
	}
	return found, fault
}

// cie reads a CIE after its id.
func (s *section) cie(c *cursor) (*cie, error) {
	version := c.u8()
	if version != 1 && version != 3 && version != 4 {
		return nil, fmt.Errorf("got version %d of call frame information, want 1, 3 or 4", version)
	}
	aug := c.text()
	e := &cie{addrSize: s.Word}
	if version == 4 {
		e.addrSize = int(c.u8())
		if segment := c.u8(); segment != 0 {
			return nil, errors.New("segmented addresses")
		}
	}
	if e.addrSize != 4 && e.addrSize != 8 {
		return nil, fmt.Errorf("got addresses of %d bytes, want 4 or 8", e.addrSize)
	}
	if aug == "eh" {
		c.take(e.addrSize) // old gcc
	}
	e.codeAlign, e.dataAlign = c.uleb(), c.sleb()
	ra := uint64(0)
	if version == 1 {
		ra = uint64(c.u8())
	} else {
		ra = c.uleb()
	}
	if ra >= numRegs {
		return nil, fmt.Errorf("got return address in register %d, want below %d", ra, numRegs)
	}
	e.ra = uint8(ra)
	if len(aug) > 0 && aug[0] == 'z' {
		e.augmented = true
		data := cursor{b: c.take(int(min(c.uleb(), 1<<20)))}
		for _, letter := range aug[1:] {
			switch letter {
			case 'R':
				e.encoding = data.u8()
			case 'S':
				e.signal = true
			case 'L':
				data.u8()
			case 'P':
				s.pointer(&data, data.u8(), 0, e.addrSize)
			case 'B', 'G':
				// arm64: return addresses signed with key B; memory tags.
			default:
				data.bad = true // not needed: the size gives the begin of the program
			}
		}
	}
	if c.bad {
		return nil, errors.New("it ends early")
	}
	e.program = c.b[c.at:]
	return e, nil
}

// fde reads an FDE after its reference to the CIE.
func (s *section) fde(c *cursor, e *cie) (fde, bool) {
	enc := e.encoding
	start, ok1 := s.pointer(c, enc, s.Addr+uint64(c.at), e.addrSize)
	size, ok2 := s.pointer(c, enc&0x0f, 0, e.addrSize) // the format, without the base
	if e.augmented {
		c.take(int(min(c.uleb(), 1<<20)))
	}
	if !ok1 || !ok2 || c.bad || size == 0 || start+size < start || start == 0 {
		return fde{}, false
	}
	return fde{start: start, end: start + size, cie: e, program: c.b[c.at:]}, true
}

// Encodings of pointers: the format in the low half, the base in the high.
const (
	ptrULEB, ptrU2, ptrU4, ptrU8 = 1, 2, 3, 4
	ptrSLEB, ptrS2, ptrS4, ptrS8 = 9, 10, 11, 12
	baseMask, basePC, baseData   = 0x70, 0x10, 0x30
	ptrOmit, ptrIndirect         = 0xff, 0x80
)

// pointer reads an encoded pointer; here is the address of the pointer in the
// image.
func (s *section) pointer(c *cursor, enc uint8, here uint64, word int) (uint64, bool) {
	if enc == ptrOmit {
		return 0, false
	}
	var v uint64
	switch enc & 0x0f {
	case 0:
		if word == 4 {
			v = uint64(c.u32())
		} else {
			v = c.u64()
		}
	case ptrULEB:
		v = c.uleb()
	case ptrU2:
		v = uint64(c.u16())
	case ptrU4:
		v = uint64(c.u32())
	case ptrU8, ptrS8:
		v = c.u64()
	case ptrSLEB:
		v = uint64(c.sleb())
	case ptrS2:
		v = uint64(int64(int16(c.u16())))
	case ptrS4:
		v = uint64(int64(int32(c.u32())))
	default:
		return 0, false
	}
	switch enc & baseMask {
	case 0:
	case basePC:
		v += here
	case baseData:
		v += s.Base
	default:
		return 0, false
	}
	return v, !c.bad && enc&ptrIndirect == 0
}
