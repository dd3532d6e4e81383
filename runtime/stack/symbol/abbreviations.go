package symbol

import (
	"debug/dwarf"
	"encoding/binary"
	"errors"

	"ppscript/runtime/stack/dso"
)

// This file checks the units of debug information before package debug/dwarf reads them. That
// package makes a table of abbreviations for each offset that a unit names. A compiler's tables do
// not overlap. In a malicious file, 5,000 units could each begin at another entry of one table of
// 64 KB, and their tables would take gigabytes.

// maxAbbreviations bounds the tables of abbreviations of a file, in bytes; in memory they take up
// to thirty times as much.
const maxAbbreviations = 12 << 20

// newDWARF is dwarf.New for untrusted sections, which may need any amount of
// memory.
func newDWARF(order binary.ByteOrder, abbrev, info, line, ranges, text []byte) (*dwarf.Data, error) {
	if err := unitsFit(order, info, abbrev); err != nil {
		return nil, err
	}
	return dwarf.New(abbrev, nil, nil, info, line, nil, ranges, text)
}

// unitsFit returns an error if there are too many units, or if their tables of abbreviations are
// too large. It walks the units like package debug/dwarf.
func unitsFit(order binary.ByteOrder, info, abbrev []byte) error {
	seen, bytes := map[uint64]bool{}, 0
	for units := 0; len(info) >= 4; {
		length, head, word := uint64(order.Uint32(info)), 4, 4
		switch {
		case length == 0:
			info = info[4:] // padding
			continue
		case length == 0xffffffff && len(info) >= 12:
			length, head, word = order.Uint64(info[4:]), 12, 8
		}
		body := info[head:]
		if units++; units > maxUnits {
			return &dso.TooLarge{Subject: "index of debug information", Bytes: uint64(24 * units),
				Most: 24 * maxUnits}
		}
		if at, ok := abbreviationsOf(order, body, word); ok && !seen[at] {
			seen[at] = true
			bytes += tableSize(abbrev, at, maxAbbreviations-bytes)
		}
		if bytes >= maxAbbreviations {
			return &dso.TooLarge{Subject: "abbreviations of debug information", Bytes: uint64(bytes),
				Most: maxAbbreviations}
		}
		if length > uint64(len(body)) {
			return nil
		}
		info = body[length:]
	}
	return nil
}

// abbreviationsOf is the offset of a unit's table, from its header after the length.
func abbreviationsOf(order binary.ByteOrder, body []byte, word int) (at uint64, ok bool) {
	from := 2
	if len(body) >= 2 && order.Uint16(body) >= 5 {
		from = 4
	}
	switch {
	case len(body) < from+word:
		return 0, false
	case word == 8:
		return order.Uint64(body[from:]), true
	}
	return uint64(order.Uint32(body[from:])), true
}

// tableSize is the size of a table of abbreviations in bytes, at most most.
func tableSize(abbrev []byte, from uint64, most int) int {
	if from > uint64(len(abbrev)) {
		return 0
	}
	b := abbrev[from:]
	b = b[:min(len(b), most)]
	whole := len(b)
	next := func() (n uint32) { // reads numbers like debug/dwarf, also too long ones
		for shift := 0; len(b) > 0; shift += 7 {
			x := b[0]
			b = b[1:]
			n |= uint32(x&0x7f) << shift
			if x < 0x80 {
				break
			}
		}
		return n
	}
	for len(b) > 0 && next() != 0 {
		next() // tag
		b = b[min(1, len(b)):]
		for len(b) > 0 {
			attr, form := next(), next()
			if attr == 0 && form == 0 {
				break
			}
			if form == formImplicitConst {
				next()
			}
		}
	}
	return max(whole-len(b), 1)
}

// errApart is the reason if abbreviations have numbers that no compiler uses.
var errApart = errors.New("the numbers of abbreviations lie far apart")
