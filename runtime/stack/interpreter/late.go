package interpreter

import (
	"encoding/binary"

	"ppscript/runtime/stack"
	"ppscript/runtime/target/task"
)

// This file finds the interpreted functions when a sample is read, if no program of the kernel
// could do so when it was taken. The functions may have changed in between, but mostly have not.
// Calls that have returned are unknown.

// threadTID is the offset of a thread's number in the C library's thread structure, to which
// pthread_self points: a fact of glibc on x86-64. On other machines only the first thread of a
// process is recognized.
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
	for inChain > len(calls) { // a call of the sample has returned: its function is unknown
		calls = append([][]uint64{{p.unknown}}, calls...)
	}
	return merge(dst, chain, calls, p), true
}

// maxInner bounds the remembered numbers of a process's threads.
const maxInner = 1 << 12
