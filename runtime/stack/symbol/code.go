package symbol

import (
	"debug/elf"

	"ppscript/runtime/stack/dso"
)

// This file finds the machine code of functions, for listings.

// mostCode bounds the code of a function that is read, in bytes.
const mostCode = 1 << 20

// A Code is the machine code of a function.
type Code struct {
	Addr    uint64 // address of its first byte, in the numbering of Line and Name
	Bytes   []byte
	Machine elf.Machine
	// Line returns the source line of an address in it, "" and 0 if unknown.
	Line func(addr uint64) (file string, line int)
	// Name returns the function at any address, and the function's begin; "" if unknown.
	Name func(addr uint64) (name string, start uint64)
}

// Code returns the code of the function at addr, an address in the file's own tables; false if its
// bytes or its bounds are unknown.
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
		at := s.withLines(Frame{}, f, addr)[0] // the innermost frame has the position in the source
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
