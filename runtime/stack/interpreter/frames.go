package interpreter

import (
	"io"

	"ppscript/bpf/interpreted"
	"ppscript/runtime/result"
	"ppscript/runtime/stack"
)

// This file converts the results of the kernel's program to frames, and puts them into
// chains.

// unknown is the frame for words without a function.
var unknown = []*result.Frame{{DSO: result.UnknownFunction("")}}

// number returns the number of a frame.
func (w *Walker) number(p *process, mem io.ReaderAt, f interpreted.Frame) uint64 {
	fn := p.function(w, mem, object{f.Code, f.Check})
	if fn == nil {
		return p.unknown
	}
	return w.place(fn.frame(mem, f), p.unknown)
}

// place returns the number of a frame; other if there are too many.
func (w *Walker) place(frame result.Frame, other uint64) uint64 {
	if at, ok := w.index[frame]; ok {
		return at
	}
	texts := len(frame.Symbol) + len(frame.File)
	if len(w.list) >= maxFrames || w.texts+texts > maxTexts {
		return other
	}
	w.texts += texts
	shown := frame
	w.list = append(w.list, &shown)
	w.index[frame] = uint64(len(w.list))
	return uint64(len(w.list))
}

// perCode is the approximate memory of a code object without its texts and lines, in
// bytes.
const perCode = 256

// function reads the function of a code object of a process, nil if the object
// has changed.
func (p *process) function(w *Walker, mem io.ReaderAt, at object) function {
	if fn, known := p.functions[at]; known {
		return fn
	}
	fn, ok := p.read(mem, at.at, at.check)
	if !ok {
		w.stats.Unknown++
		return nil // it may succeed the next time
	}
	if w.cachedBytes += perCode + fn.bytes(); w.cachedBytes > maxHeld {
		for _, other := range w.spaces {
			if other != nil {
				clear(other.functions)
			}
		}
		for _, other := range w.running { // a space that was forgotten
			clear(other.functions)
		}
		w.cachedBytes = perCode + fn.bytes()
	}
	p.functions[at] = fn
	return fn
}

// Frame returns the frame for a word of a chain, which is the frame's number
// plus 1.
func (w *Walker) Frame(word uint64) []*result.Frame {
	if word <= 1 || word-1 > uint64(len(w.list)) {
		return unknown
	}
	return w.list[word-2 : word-1 : word-1]
}

// merge appends a chain in which each call of the interpreter's own function is replaced by the
// frames of that call. Calls whose function is not in the chain come last: the kernel's walk
// ended before them.
func merge(dst, chain []uint64, calls [][]uint64, p *process) []uint64 {
	b := builder{out: dst}
	stack.Each(chain, func(addr uint64, in stack.Context, exact bool) {
		is := addr
		if !exact {
			is--
		}
		if in != stack.User || len(calls) == 0 || !p.evaluates(is) {
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
	exact bool // the next address would be exact by the markers so far
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
		if !b.user { // hasUser searches this marker
			b.out = append(b.out, stack.Mark(stack.User, true))
			b.user = true
		}
		b.out = append(b.out, stack.Mark(stack.Interpreted, true))
	}
	for _, n := range numbers {
		b.out = append(b.out, n+1) // 0 is not used in chains
	}
	b.in, b.exact = stack.Interpreted, false
}
