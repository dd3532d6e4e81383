package eval

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/tests/testkit/bpftest"
)

// Blanks stand between the words of a command line, and nothing behind the last one: for all bytes, also
// those around 0x00 and 0x80, where a sum of bytes might carry.
func TestNULsBetweenWordsAreBlanks(t *testing.T) {
	const room = 64
	b := bpftest.Builder{Spills: true, In: room, Out: room}
	p := b.Build(t, func(c *assembler.Code, _ assembler.Label) {
		place := c.Alloc(room)
		c.MapValue(asm.R3, bpftest.Input, 0)
		for i := int16(0); i < room; i += 8 {
			c.Emit(asm.LoadMem(asm.R0, asm.R3, i, asm.DWord))
			c.Store(place+i, asm.R0)
		}
		blankNULs(c, place, room)
		c.MapValue(asm.R2, bpftest.Output, 0)
		for i := int16(0); i < room; i += 8 {
			c.Load(asm.R0, place+i)
			c.Emit(asm.StoreMem(asm.R2, i, asm.R0, asm.DWord))
		}
	})
	f := func(in []byte) {
		t.Helper()
		text := bytes.TrimRight(in, "\x00")
		want := append(bytes.ReplaceAll(text, []byte{0}, []byte{' '}), make([]byte, room-len(text))...)
		if got, ok := p.Run(in); !ok || !bytes.Equal(got[:room], want) {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	f(make([]byte, room))
	f(bytes.Repeat([]byte{'x'}, room))
	f(append([]byte("ls\x00-l\x00\x00\x01\x00/tmp\x00"), make([]byte, room-16)...))
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		in := make([]byte, room)
		for i := range random.IntN(room + 1) {
			in[i] = []byte{0, 0, 1, 0x7f, 0x80, 0x81, 0xff, 'a'}[random.IntN(8)]
		}
		f(in)
	}
}
