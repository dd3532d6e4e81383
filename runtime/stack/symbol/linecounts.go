package symbol

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// This file checks the header of a line table before package debug/dwarf reads it. That package
// trusts the numbers of directories and files and allocates memory for them, so a few bytes could
// use all memory. Only since version 5 are there such numbers; earlier lists just end.

var errLineCounts = errors.New("a line table that has more names than bytes")

// countsFit reports that the line table at off has enough bytes for its declared numbers of
// directories and files.
func countsFit(table []byte, off int64, order binary.ByteOrder) error {
	if off < 0 || off > int64(len(table)) {
		return errLineCounts
	}
	h := header{b: table[off:], order: order}
	h.offset = 4
	if h.number(4) == 0xffffffff {
		h.offset = 8
		h.number(8)
	}
	if h.number(2) < 5 {
		return h.err
	}
	h.skip(2)                       // sizes of addresses and selectors
	h.skip(uint64(h.offset))        // length of the header
	h.skip(5)                       // of the program
	h.skip(max(h.number(1), 1) - 1) // lengths of opcodes
	for range 2 {                   // directories, files
		h.entries()
	}
	return h.err
}

// A header is the unread rest of a header.
type header struct {
	b      []byte
	order  binary.ByteOrder
	offset int // size of an offset into another section, in bytes
	err    error
}

func (h *header) skip(n uint64) {
	if n > uint64(len(h.b)) {
		h.b, h.err = nil, errLineCounts
		return
	}
	h.b = h.b[n:]
}

// number reads an unsigned number of n bytes.
func (h *header) number(size int) (n uint64) {
	if size > len(h.b) {
		h.b, h.err = nil, errLineCounts
		return 0
	}
	var b [8]byte
	if h.order == binary.BigEndian {
		copy(b[8-size:], h.b[:size])
	} else {
		copy(b[:], h.b[:size])
	}
	h.b = h.b[size:]
	return h.order.Uint64(b[:])
}

// leb reads a number of variable length.
func (h *header) leb() uint64 {
	n, size := binary.Uvarint(h.b)
	if size <= 0 {
		h.b, h.err = nil, errLineCounts
		return 0
	}
	h.b = h.b[size:]
	return n
}

// entries reads a list of names.
func (h *header) entries() {
	forms := make([]uint64, h.number(1))
	for i := range forms {
		h.leb() // content type
		forms[i] = h.leb()
	}
	n := h.leb()
	if h.err != nil || n > uint64(len(h.b)) || n > 0 && len(forms) == 0 {
		h.err = errLineCounts
		return
	}
	for range n {
		for _, form := range forms {
			if h.err != nil {
				return
			}
			h.value(form)
		}
	}
}

// value skips a value of a form; each has at least one byte.
func (h *header) value(form uint64) {
	switch n := (sizes{offset: h.offset}).length(form); n {
	case ofText:
		_, after, ended := bytes.Cut(h.b, []byte{0})
		if h.b = after; !ended {
			h.err = errLineCounts
		}
	case ofLEB:
		h.leb()
	case ofBlock:
		h.skip(h.leb())
	case ofBlock1:
		h.skip(h.number(1))
	default:
		if n <= 0 {
			h.err = errLineCounts
			return
		}
		h.skip(uint64(n))
	}
}
