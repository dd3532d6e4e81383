package state

import (
	"slices"
	"testing"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
)

// Events of different streams wait in the same memory, fields of one behind each other, each once.
func TestPlacesAreShared(t *testing.T) {
	var r Waiting
	for _, f := range []Field{
		{Name: "a", Event: 1, Size: 8, Sent: true}, {Name: "b", Event: 1, Size: 48, Sent: true},
		{Name: "a", Event: 2, Size: 16}, {Name: "a", Event: 1, Size: 8},
	} {
		r.Save(f)
	}
	want := []Field{
		{Name: "a", Event: 1, Off: WaitingFields, Size: 8}, // somebody else reads it too
		{Name: "b", Event: 1, Off: WaitingFields + 8, Size: 48, Sent: true},
		{Name: "a", Event: 2, Off: WaitingFields, Size: 16},
	}
	if !slices.Equal(r.Fields, want) || r.Size() != WaitingFields+56 {
		t.Errorf("got %d bytes, %v, want %d, %v", r.Size(), r.Fields, WaitingFields+56, want)
	}
	if r.At(1, "b") != 1 || r.At(2, "b") != -1 {
		t.Errorf("got b at %d and %d, want 1 and -1", r.At(1, "b"), r.At(2, "b"))
	}
}

// What only those read that are sent is copied later, where the memory stays.
func TestSentFieldsAreCopiedLater(t *testing.T) {
	var r Waiting
	r.Save(Field{Name: "read", Event: 0, Size: 8})
	r.Save(Field{Name: "sent", Event: 0, Size: 24, Sent: true})
	r.Save(Field{Name: "other", Event: 1, Size: 64}) // which makes no pairs with this end
	loads := func(stays bool) (atOnce, inAll int) {
		c := assembler.New()
		c.Emit(asm.Mov.Imm(asm.R7, 0))
		count := func() (n int) {
			for _, ins := range c.Finish() {
				if ins.OpCode.Class() == asm.LdXClass && ins.Src != asm.R10 {
					n++
				}
			}
			return n
		}
		places := make([]int16, len(r.Fields))
		ends := func(source int) bool { return source == 0 }
		later := r.Copied(c, c.Alloc(8), c.Alloc(8), places, ends, stays)
		atOnce = count()
		if later != nil {
			later()
		}
		if places[1]-places[0] != 8 {
			t.Errorf("got places %v, want the second field 8 bytes behind the first", places)
		}
		return atOnce, count()
	}
	for stays, want := range map[bool][2]int{true: {3, 6}, false: {6, 6}} {
		if atOnce, inAll := loads(stays); atOnce != want[0] || inAll != want[1] {
			t.Errorf("stays %t: got %d words at once of %d, want %v", stays, atOnce, inAll, want)
		}
	}
}
