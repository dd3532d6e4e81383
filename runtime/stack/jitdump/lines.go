package jitdump

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
)

// This file reads source lines. Their record comes before the record of the function's
// code.

// maxInfo bounds a record of lines, in bytes; larger ones are left out.
const maxInfo = 4 << 20

// lines are the lines of all functions of a dump.
type lines struct {
	rows    []row
	files   []string
	number  map[string]int32 // numbers of files by name
	text    int              // bytes of names of files
	pending struct {         // lines of the next function
		addr uint64
		rows span
	}
}

// A row says that code from addr on belongs to a line.
type row struct {
	addr uint64
	file int32
	line int32
}

// A span is a range of rows.
type span struct{ from, to int32 }

func (l *lines) bytes() int { return 16*cap(l.rows) + 64*len(l.files) + l.text }

// sameFile is the name that stands for the source file of the entry before.
var sameFile = []byte{0xff, 0}

// take reads a record of lines. A damaged one leaves the function without lines.
func (l *lines) take(w *window, at, size int64, order binary.ByteOrder) error {
	l.pending.rows = span{}
	if size < 16 || size > maxInfo {
		return nil
	}
	b := w.at(at, int(size))
	if b == nil {
		return ErrDamaged
	}
	addr, n := order.Uint64(b), order.Uint64(b[8:])
	b = b[16:]
	begin, file := len(l.rows), int32(-1)
	for ; n > 0 && len(b) > 16 && len(l.rows) < maxRows; n-- {
		r := row{addr: order.Uint64(b), line: int32(order.Uint32(b[8:]))}
		b = b[16:]
		if bytes.HasPrefix(b, sameFile) {
			b = b[len(sameFile):]
		} else {
			end := indexNul(b)
			if end < 0 || end > maxName {
				break
			}
			file = l.file(b[:end])
			b = b[end+1:]
		}
		if file < 0 {
			break
		}
		r.file = file
		l.rows = append(l.rows, r)
	}
	slices.SortStableFunc(l.rows[begin:], func(x, y row) int {
		switch {
		case x.addr < y.addr:
			return -1
		case x.addr > y.addr:
			return 1
		}
		return 0
	})
	l.pending.addr, l.pending.rows = addr, span{int32(begin), int32(len(l.rows))}
	return nil
}

// file returns the number of a source file; -1 if there is no room for more
// names.
func (l *lines) file(name []byte) int32 {
	i, ok := l.number[string(name)]
	if !ok {
		if l.text+len(name) > maxText {
			return -1
		}
		if l.number == nil {
			l.number = map[string]int32{}
		}
		i = int32(len(l.files))
		text := string(name)
		l.files, l.number[text] = append(l.files, text), i
		l.text += len(text)
	}
	return i
}

// elfHeader is the number that V8 adds to the addresses of lines, since perf puts the code after
// the header of an ELF file.
const elfHeader = 0x40

// of returns the rows of a function whose code is at addr.
func (l *lines) of(addr uint64, name []byte) span {
	p := l.pending
	l.pending.rows = span{}
	if p.rows == (span{}) || p.addr != addr {
		return span{}
	}
	if text := string(name); strings.HasPrefix(text, "JS:") || strings.HasPrefix(text, "Script:") ||
		strings.HasPrefix(text, "Eval:") || strings.HasPrefix(text, "Function:") {
		for i := p.rows.from; i < p.rows.to; i++ {
			l.rows[i].addr -= elfHeader
		}
	}
	return p.rows
}

// moved returns the rows of a function whose code was moved by a number of
// bytes.
func (l *lines) moved(s span, by uint64) span {
	if s.to == s.from || len(l.rows)+int(s.to-s.from) > maxRows {
		return span{}
	}
	begin := len(l.rows)
	for _, r := range l.rows[s.from:s.to] {
		r.addr += by
		l.rows = append(l.rows, r)
	}
	return span{int32(begin), int32(len(l.rows))}
}
