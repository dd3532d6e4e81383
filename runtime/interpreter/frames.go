package interpreter

import (
	"io"

	"ppscript/bpf/interpreted"
	"ppscript/runtime/result"
	"ppscript/runtime/stack"
)

// This file makes frames of what the program of the kernel found, and puts them into chains.

// unknown stands for functions whose code objects could not be read.
var unknown = []*result.Frame{{DSO: result.UnknownPython}}

// number is the number of a frame as it is shown; 0 is of unknown.
func (w *Walker) number(p *process, mem io.ReaderAt, f interpreted.Frame) uint64 {
	c := p.code(w, mem, object{f.Code, f.Check})
	if c == nil {
		return 0
	}
	frame := result.Frame{Symbol: c.name, DSO: c.file, File: c.file, Line: p.line(c, f)}
	if at, ok := w.index[frame]; ok {
		return at
	}
	if len(w.list) >= maxFrames {
		return 0
	}
	shown := frame
	w.list = append(w.list, &shown)
	w.index[frame] = uint64(len(w.list))
	return uint64(len(w.list))
}

// code is a code object of a process, nil if it is gone.
func (p *process) code(w *Walker, mem io.ReaderAt, at object) *code {
	if c, known := p.codes[at]; known {
		return c
	}
	if w.codes++; w.codes > maxCodes {
		for _, other := range w.spaces {
			if other != nil {
				clear(other.codes)
			}
		}
		w.codes = 1
	}
	c, ok := readCode(mem, p.layout, p.codeType, at.at, at.check)
	if !ok {
		w.stats.Unknown++
		return nil // the next time it may be
	}
	p.codes[at] = &c
	return &c
}

// line is where in its function a frame was.
func (p *process) line(c *code, f interpreted.Frame) int {
	instr := f.Instr &^ interpreted.IsEntry
	at := int64(instr - f.Code - p.layout.code.begin)
	switch p.layout.minor {
	case 9:
		at = int64(int32(instr))
	case 10:
		at = 2 * int64(int32(instr))
	}
	if at > 1<<30 || at < -2 {
		return 0
	}
	return lineOf(p.layout.minor, c.lines, c.first, int(at))
}

// Frame is the function that a word of a chain stands for: its number, and 1.
func (w *Walker) Frame(word uint64) []*result.Frame {
	if word <= 1 || word-1 > uint64(len(w.list)) {
		return unknown
	}
	return w.list[word-2 : word-1 : word-1]
}

// merge appends a chain with the frames of each call of the interpreter in the place of its own
// function. Calls whose function is not in the chain come last: the walk ended before.
func merge(dst, chain []uint64, calls [][]uint64, eval [2]uint64) []uint64 {
	b := builder{out: dst}
	stack.Each(chain, func(addr uint64, in stack.Context, exact bool) {
		is := addr
		if !exact {
			is--
		}
		if in != stack.User || is < eval[0] || is >= eval[1] || len(calls) == 0 {
			b.add(addr, in, exact)
			return
		}
		b.call(calls[0])
		calls = calls[1:]
	})
	for _, c := range calls {
		b.call(c)
	}
	return b.out
}

// A builder writes a chain.
type builder struct {
	out   []uint64
	in    stack.Context
	exact bool // what comes next would be, by the markers so far
	user  bool
}

func (b *builder) add(addr uint64, in stack.Context, exact bool) {
	if in != b.in || exact != b.exact {
		b.out = append(b.out, stack.Mark(in, exact))
		b.user = b.user || in == stack.User && exact
	}
	b.out = append(b.out, addr)
	b.in, b.exact = in, false
}

func (b *builder) call(numbers []uint64) {
	if len(numbers) == 0 {
		return
	}
	if b.in != stack.Interpreted {
		if !b.user { // who asks whether a stack has a user part looks for this
			b.out = append(b.out, stack.Mark(stack.User, true))
			b.user = true
		}
		b.out = append(b.out, stack.Mark(stack.Interpreted, true))
	}
	for _, n := range numbers {
		b.out = append(b.out, n+1) // 0 is no word of a chain
	}
	b.in, b.exact = stack.Interpreted, false
}
