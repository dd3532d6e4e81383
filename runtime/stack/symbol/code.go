package symbol

import (
	"debug/elf"

	"ppscript/runtime/stack/dso"
)

// This file finds the machine code of functions, for listings.

// mostCode bounds the bytes of a function whose code is read.
const mostCode = 1 << 20

// A Code is the machine code of a function.
type Code struct {
	Addr    uint64 // of its first byte, as Line and Name take addresses
	Bytes   []byte
	Machine elf.Machine
	// Line is the source line of an address in it, "" and 0 if that is not known.
	Line func(addr uint64) (file string, line int)
	// Name is the function that has code at an address, which may be any, and where that begins;
	// "" if nobody knows it.
	Name func(addr uint64) (name string, start uint64)
}

// Code is the code of the function of a file that has addr, as the file counts; false if its bytes or
// its bounds are not known.
func (s *Symbolizer) Code(f *dso.File, addr uint64) (c Code, ok bool) {
	im, err := f.Image()
	if err != nil {
		return c, false
	}
	t := s.Table(f)
	i, ok := t.Find(addr)
	if !ok {
		return c, false
	}
	fn := t.At(i)
	size := fn.Size
	if size == 0 || size > mostCode {
		return c, false
	}
	c = Code{Addr: fn.Addr, Bytes: im.Bytes(fn.Addr, int(size)), Machine: im.Machine}
	c.Line = func(addr uint64) (string, int) {
		if !s.opt.lines() {
			return "", 0
		}
		at := s.withLines(Frame{}, f, addr)[0] // the innermost: where the code was written
		return at.File, at.Line
	}
	c.Name = func(addr uint64) (string, uint64) {
		if i, ok := t.Find(addr); ok {
			return s.plain(string(t.nameOf(i))), t.addr[i]
		}
		return "", 0
	}
	return c, len(c.Bytes) > 0
}
