package symbol

import (
	"debug/dwarf"
	"encoding/binary"
	"errors"

	"ppscript/runtime/stack/dso"
)

// This file looks at the units of debug information before package debug/dwarf reads them, which makes a
// table of abbreviations for each place that a unit names. Tables of a compiler do not overlap. Where they
// do, as where 5,000 units each begin at another entry of one table of 64 KB, they take gigabytes.

// maxAbbreviations bounds the tables of abbreviations of a file, in bytes; in memory one takes thirty times
// as much at most.
const maxAbbreviations = 12 << 20

// newDWARF is dwarf.New for sections that may ask for any amount of memory.
func newDWARF(order binary.ByteOrder, abbrev, info, line, ranges, text []byte) (*dwarf.Data, error) {
	if err := unitsFit(order, info, abbrev); err != nil {
		return nil, err
	}
	return dwarf.New(abbrev, nil, nil, info, line, nil, ranges, text)
}

// unitsFit reports in the error that there are too many units, or that their tables of abbreviations are too
// large. It walks over units as package debug/dwarf does, which refuses what it takes for an end.
func unitsFit(order binary.ByteOrder, info, abbrev []byte) error {
	seen, bytes := map[uint64]bool{}, 0
	for units := 0; len(info) >= 4; {
		length, head, word := uint64(order.Uint32(info)), 4, 4
		switch {
		case length == 0:
			info = info[4:] // it fills up
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

// abbreviationsOf is where the table of a unit begins, by its header behind the length.
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

// tableSize is how many bytes a table of abbreviations has, at most most.
func tableSize(abbrev []byte, from uint64, most int) int {
	if from > uint64(len(abbrev)) {
		return 0
	}
	b := abbrev[from:]
	b = b[:min(len(b), most)]
	whole := len(b)
	next := func() (n uint32) { // as debug/dwarf reads them, also those that are too long
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

// errApart is the reason where abbreviations have numbers that no compiler gives.
var errApart = errors.New("the numbers of abbreviations lie far apart")
