package interpreted

import (
	"encoding/binary"
	"errors"
	"io"
)

// This file does what the program does, from outside and later: for kernels without programs.

// errEnd ends a walk: memory could not be read as it should be.
var errEnd = errors.New("no frames")

// A late walks through the memory of a process.
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

// via follows a pointer at an offset that is told as 1 more; 0 is that there is none between.
func (l *late) via(at, offset uint64) uint64 {
	if offset == 0 {
		return at
	}
	return l.word(at + offset - 1)
}

// tries is how often frames are followed for a walk in which the innermost one stayed the same.
const tries = 8

// Walk follows the frames of a thread that mine knows by what pthread_self returns in it; main says that it
// is the process's first. The process goes on meanwhile: where the innermost frame is another one at the
// end, it is tried again, and at last told as it is: functions that call much would be missing else.
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
		if len(next.Frames) >= len(st.Frames) { // a generator that is left meanwhile has no caller
			st, ok = next, true
		}
		if again, _ := l.frame(first); l.word(from) == first && again.Code == next.Frames[0].Code {
			break
		}
	}
	return st, ok
}

// find finds the innermost frame of the thread, where frames end, and where the first number stands.
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
				interp = 0 // they are in a circle
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

// frame reads one, and the pointer to its caller's.
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
