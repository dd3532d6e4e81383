package interpreter

import (
	"encoding/binary"

	"ppscript/runtime/stack"
	"ppscript/runtime/target/task"
)

// This file has the functions that run when a sample is read, where no program of the kernel could look as
// it was taken. They are a moment younger, and mostly the same. Calls that have returned are unknown.

// threadTID is where the C library has the number of a thread, from what pthread_self returns on: a fact of
// glibc on x86-64. Elsewhere only a process's first thread is known.
const threadTID = 720

func (w *Walker) late(dst []uint64, p *process, tid int32, chain []uint64) (out []uint64, ok bool) {
	mem, err := memory(p.pid)
	if err != nil {
		return dst, false
	}
	defer mem.Close()
	inner, known := p.inner[tid]
	if !known {
		inner = task.InnerTID(p.pid, tid)
		if p.inner == nil || len(p.inner) >= maxInner {
			p.inner = map[int32]int32{}
		}
		p.inner[tid] = inner
	}
	st, ok := p.config.Walk(mem, p.pid == tid, func(self uint64) bool {
		var b [4]byte
		_, err := mem.ReadAt(b[:], int64(self+threadTID))
		return err == nil && int32(binary.LittleEndian.Uint32(b[:])) == inner
	})
	if !ok {
		w.stats.Lost++
		return dst, false
	}
	w.stats.Samples++
	calls := w.callsOf(p, mem, st.Frames)
	inChain := 0
	stack.Each(chain, func(addr uint64, in stack.Context, exact bool) {
		if !exact {
			addr--
		}
		if in == stack.User && p.evaluates(addr) {
			inChain++
		}
	})
	for inChain > len(calls) { // a call of the sample has returned: it had some function
		calls = append([][]uint64{{p.unknown}}, calls...)
	}
	return merge(dst, chain, calls, p), true
}

// maxInner bounds the threads of a process whose numbers are remembered.
const maxInner = 1 << 12
