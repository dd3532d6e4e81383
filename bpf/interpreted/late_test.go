package interpreted

import (
	"encoding/binary"
	"io"
	"testing"
)

// words is the memory of a process.
type words map[uint64]uint64

func (w words) ReadAt(b []byte, at int64) (int, error) {
	for i := range b {
		word, ok := w[(uint64(at)+uint64(i))&^7]
		if !ok {
			return i, io.EOF
		}
		var bytes [8]byte
		binary.LittleEndian.PutUint64(bytes[:], word)
		b[i] = bytes[(uint64(at)+uint64(i))&7]
	}
	return len(b), nil
}

// TestWalkEndsInCircles checks that interpreters, threads and frames in a circle end a walk.
func TestWalkEndsInCircles(t *testing.T) {
	c := Config{Search: Search{Head: 0x1000, Threads: 8, ThreadID: 8, Frame: 16},
		Frames: Frames{Code: 0, Previous: 8, Instr: 16, Owner: 24, Size: 32, Entry: EachEntry}}
	mine := func(self uint64) bool { return self == 7 }
	walk := func(what string, mem words, frames int) {
		t.Helper()
		st, ok := c.Walk(mem, true, mine)
		if ok != (frames > 0) || len(st.Frames) != frames {
			t.Errorf("%s: got %d frames, %t, want %d", what, len(st.Frames), ok, frames)
		}
	}
	walk("interpreters without threads", words{0x1000: 0x2000, 0x2000: 0x2000, 0x2008: 0}, 0)
	walk("threads", words{0x1000: 0x2000, 0x2000: 0, 0x2008: 0x3000, 0x3000: 0x3000, 0x3008: 1}, 0)
	walk("frames", words{0x1000: 0x2000, 0x2000: 0, 0x2008: 0x3000, 0x3000: 0, 0x3008: 7, 0x3010: 0x4000,
		0x4000: 0x5000, 0x4008: 0x4000, 0x4010: 0, 0x4018: 0, 0x5000: 1, 0x5008: 2, 0x5010: 3}, maxFrames)
}
