package state

import (
	"slices"
	"testing"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/record/sent"
)

// TestPlacesAreShared checks that events of different streams wait in the same memory, fields of
// one behind each other, each once.
func TestPlacesAreShared(t *testing.T) {
	var r Waiting
	a, b := &expr.Field{F: &event.Field{Name: "a"}}, &expr.Field{F: &event.Field{Name: "b"}}
	for _, f := range []Field{
		{Column: sent.Column{Of: a, Size: 8}, Event: 1, PairOnly: true},
		{Column: sent.Column{Of: b, Size: 48}, Event: 1, PairOnly: true},
		{Column: sent.Column{Of: a, Size: 16}, Event: 2},
		{Column: sent.Column{Of: a, Size: 8}, Event: 1},
	} {
		r.Save(f)
	}
	want := []Field{
		{Column: sent.Column{Of: a, Off: WaitingFields, Size: 8}, Event: 1}, // somebody else reads it too
		{Column: sent.Column{Of: b, Off: WaitingFields + 8, Size: 48}, Event: 1, PairOnly: true},
		{Column: sent.Column{Of: a, Off: WaitingFields, Size: 16}, Event: 2},
	}
	for i := range want {
		want[i].name = name(&want[i].Column)
	}
	if !slices.Equal(r.Fields, want) || r.Size() != WaitingFields+56 {
		t.Errorf("got %d bytes, %v, want %d, %v", r.Size(), r.Fields, WaitingFields+56, want)
	}
	of := &sent.Column{Of: b}
	if r.At(1, of) != 1 || r.At(2, of) != -1 {
		t.Errorf("got b at %d and %d, want 1 and -1", r.At(1, of), r.At(2, of))
	}
	// A text that may have been cut is another column than the field.
	if of.Form = sent.Located; r.At(1, of) != -1 {
		t.Errorf("got the cut text at %d, want -1", r.At(1, of))
	}
}

// What only those read that are sent is copied later, where the memory stays.
func TestSentFieldsAreCopiedLater(t *testing.T) {
	var r Waiting
	of := func(name string, size int) sent.Column {
		return sent.Column{Of: &expr.Field{F: &event.Field{Name: name}}, Size: size}
	}
	r.Save(Field{Column: of("read", 8), Event: 0})
	r.Save(Field{Column: of("sent", 24), Event: 0, PairOnly: true})
	r.Save(Field{Column: of("other", 64), Event: 1}) // which makes no pairs with this end
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
