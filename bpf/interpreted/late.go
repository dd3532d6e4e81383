package interpreted

import (
	"encoding/binary"
	"errors"
	"io"
)

// This file follows the frames as the program does, but from user space and later, for
// kernels without programs.

// errEnd ends a walk: the thread was not found.
var errEnd = errors.New("no frames")

// late is a walk through the memory of a process; err is its first error.
type late struct {
	*Config
	mem io.ReaderAt
	err error
}

func (l *late) word(at uint64) uint64 {
	var b [8]byte
	if l.err == nil {
		_, l.err = l.mem.ReadAt(b[:], int64(at))
	}
	return binary.LittleEndian.Uint64(b[:])
}

// via follows the pointer at an offset, given as 1 plus the offset; 0 means that there is no
// pointer to follow.
func (l *late) via(at, offset uint64) uint64 {
	if offset == 0 {
		return at
	}
	return l.word(at + offset - 1)
}

// tries bounds the attempts to follow the frames while the innermost frame stays the same.
const tries = 8

// Walk follows the frames of a thread. mine recognizes the thread by the value that pthread_self
// returns in it; main says that it is the process's first thread. The process continues to run
// meanwhile: if the innermost frame has changed at the end, Walk tries again. After the last
// attempt it returns the frames nevertheless, as functions that call much would be missing
// otherwise.
func (c *Config) Walk(mem io.ReaderAt, main bool, mine func(self uint64) bool) (st Stack, ok bool) {
	for range tries {
		l := &late{Config: c, mem: mem}
		frame, end, from := l.find(main, mine)
		first := frame
		next := Stack{}
		for frame != 0 && l.err == nil {
			if len(next.Frames) == maxFrames {
				next.Cut = true
				break
			}
			f, previous := l.frame(frame)
			next.Frames = append(next.Frames, f)
			if l.Step == 0 {
				frame = previous
			} else if frame += l.Step; frame >= end {
				frame = 0
			}
		}
		if l.err != nil || len(next.Frames) == 0 {
			continue
		}
		if len(next.Frames) >= len(st.Frames) { // a generator that has returned has no caller
			st, ok = next, true
		}
		if again, _ := l.frame(first); l.word(from) == first && again.Code == next.Frames[0].Code {
			break
		}
	}
	return st, ok
}

// find returns the innermost frame of the thread, the end of the frames if they lie side by side,
// and the address from which the innermost frame was read.
func (l *late) find(main bool, mine func(self uint64) bool) (frame, end, from uint64) {
	if l.Start == WordStart {
		if !main {
			l.err = errEnd
		}
		return l.word(l.Head), 0, l.Head
	}
	interp := l.via(l.word(l.Head), l.First)
	thread := l.word(interp + l.Threads)
	for range maxThreads {
		for n := 0; thread == 0 && interp != 0 && l.err == nil; n++ {
			if interp = l.word(interp + l.NextInterp); n == maxThreads {
				interp = 0 // the list is a circle
			} else if interp != 0 {
				thread = l.word(interp + l.Threads)
			}
		}
		if interp == 0 || l.err != nil {
			break
		}
		if mine(l.word(l.via(thread, l.Native) + l.ThreadID)) {
			from = thread + l.Frame
			frame = l.word(from)
			if l.Step != 0 {
				end = l.word(frame+l.Stack) + 8*l.word(frame+l.Stack+8) - l.Step
			}
			if l.Holder != 0 {
				from = frame + l.Holder - 1
				frame = l.word(from)
			}
			return frame, end, from
		}
		thread = l.word(thread + l.NextThread)
	}
	l.err = errEnd
	return 0, 0, 0
}

// frame reads a frame, and the address of its caller's frame.
func (l *late) frame(at uint64) (f Frame, previous uint64) {
	var b [frameRoom + 8]byte
	if l.err == nil {
		_, l.err = l.mem.ReadAt(b[:min(l.Size, frameRoom)], int64(at))
	}
	field := func(offset uint64) uint64 { return binary.LittleEndian.Uint64(b[offset&(frameRoom-1):]) }
	previous = field(l.Previous)
	f.Instr, f.Code = field(l.Instr), field(l.Code)&^7
	if f.Code != 0 {
		f.Code = l.via(f.Code, l.Body)
	}
	owner, entry := field(l.Owner), false
	switch l.Entry {
	case EachEntry:
		entry = true
	case OwnerEntry:
		entry = byte(owner) != 0
	case FramesEntry:
		if entry = byte(owner) >= 3; entry {
			f.Code, f.Instr = 0, 0
		}
	case BitsEntry:
		entry = uint64(uint32(owner))&l.Mask != 0
	case PointerEntry:
		entry = l.word(owner)&l.Mask != 0
	}
	if entry {
		f.Instr |= IsEntry
	}
	if f.Code != 0 {
		var names [24]byte
		if l.err == nil {
			_, l.err = l.mem.ReadAt(names[:], int64(f.Code+l.Strings))
		}
		le := binary.LittleEndian
		f.Check = Check(le.Uint64(names[:]), le.Uint64(names[8:]), le.Uint64(names[16:]))
	}
	return f, previous
}
