package naming

import (
	"fmt"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/source/relay"
	"ppscript/runtime/stack"
)

func sentStack(n int) *relay.Stack {
	return &relay.Stack{Cut: n%2 == 0, Unwound: n%2 == 1, Places: []*relay.Place{
		{In: relay.InKernel, Addr: 0xffffffff81000010, Functions: []relay.Function{{Name: "sys", Offset: 16, File: "[kernel.kallsyms]", Kernel: true}}},
		{In: relay.InUser, Addr: uint64(n), Functions: []relay.Function{
			{Name: "inner", File: "/x", Source: "x.c", Line: n, Inline: true}, {Name: fmt.Sprint("f", n), Offset: 3, File: "/x", BuildID: "ab"}}},
		{In: relay.InUser, Addr: 9, Functions: []relay.Function{{Offset: 9, File: "/stripped"}}},
		{Addr: 5, Functions: []relay.Function{{File: "[guest kernel]"}}},
	}}
}

var wholeStack = stack.Spec{Kernel: true, User: true}

func namedText(w *Namer, id stack.ID) string {
	frames, _ := w.Frames(nil, id)
	var names []string
	for _, f := range frames {
		names = append(names, fmt.Sprintf("%s+%d %s", f.Symbol, f.Offset, f.DSO))
	}
	return strings.Join(names, ";")
}

// TestStacksThatCameWithNames checks that equal stacks of two senders are one; of each, only what
// is wanted counts.
func TestStacksThatCameWithNames(t *testing.T) {
	w := &Namer{table: stack.New(stack.Options{})}
	one := w.nameStack(sentStack(1), wholeStack, 7)
	if again := w.nameStack(sentStack(1), wholeStack, 8); again != one ||
		w.nameStack(sentStack(2), wholeStack, 9) == one {
		t.Errorf("got number %d for stack %d, or the same for another", again, one)
	}
	if got, want := namedText(w, one),
		"sys+16 [kernel.kallsyms];inner+0 /x;f1+3 /x;+9 /stripped;+0 [guest kernel]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if s, _ := w.table.At(one); s.Cut || !s.Unwound || s.PID != -1 || s.When != 7 {
		t.Errorf("got %+v, want one that was unwound, of no process", s)
	}
	for want, spec := range map[string]stack.Spec{
		"sys+16 [kernel.kallsyms]":        {Kernel: true},
		"inner+0 /x;f1+3 /x;+9 /stripped": {User: true},
	} {
		if got := namedText(w, w.nameStack(sentStack(1), spec, 7)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if id := w.nameStack(&relay.Stack{Places: sentStack(1).Places[:1]}, stack.Spec{User: true}, 7); id !=
		stack.None {
		t.Errorf("got number %d for a stack of which nothing is wanted", id)
	}
	// A machine that hands it on sends what came.
	back, named := w.Sendable(one)
	if named || fmt.Sprintf("%+v", flat(back)) != fmt.Sprintf("%+v", flat(sentStack(1))) {
		t.Errorf("got %+v, want %+v, not all of it with names", flat(back), flat(sentStack(1)))
	}
	if back, _ := w.Sendable(stack.Full); len(back.Places) != 1 || back.Places[0].Functions[0].Name == "" {
		t.Errorf("got %+v for a stack without room, want it said", back)
	}
}

func flat(s *relay.Stack) (list []any) {
	for _, p := range s.Places {
		list = append(list, *p)
	}
	return append(list, s.Cut, s.Unwound)
}

// TestNamedPlacesAreLetGo checks that places go with the last stack that has them, and their
// numbers are used again.
func TestNamedPlacesAreLetGo(t *testing.T) {
	w := &Namer{table: stack.New(stack.Options{})}
	var ids []stack.ID
	for n := range 1000 {
		ids = append(ids, w.nameStack(sentStack(n), wholeStack, 1))
	}
	held := map[stack.ID]bool{ids[10]: true, ids[20]: true}
	want := namedText(w, ids[10]) + namedText(w, ids[20])
	w.table.Retain(held)
	w.places.retain(w.table, held)
	if got := namedText(w, ids[10]) + namedText(w, ids[20]); got != want || len(w.places.index) != 5 ||
		len(w.places.free) != 998 {
		t.Errorf("got %s with %d places, %d are free; want %s with 5 and 998", got, len(w.places.index),
			len(w.places.free), want)
	}
	for n := 1000; n < 1998; n++ {
		if id := w.nameStack(sentStack(n), wholeStack, 1); !strings.Contains(namedText(w, id),
			fmt.Sprintf(";f%d+3 ", n)) {
			t.Fatalf("stack %d: got %s", n, namedText(w, id))
		}
	}
	if len(w.places.list) != 1003 || namedText(w, ids[10])+namedText(w, ids[20]) != want {
		t.Errorf("got %d places, want those of before used again", len(w.places.list))
	}
}

// Where a bound is hit, stacks are counted as such.
func TestNamedPlacesAreBounded(t *testing.T) {
	w := &Namer{table: stack.New(stack.Options{})}
	w.places.list = make([]place, maxPlaces-1)
	if id := w.nameStack(sentStack(1), wholeStack, 1); id != stack.Full {
		t.Errorf("got number %d, want no room", id)
	}
	r := &namedReader{stacks: relay.NewStacks(0), names: w, ids: always(1<<32 | 1)}
	if id := r.id(&event.Event{}); id != stack.Full {
		t.Errorf("got number %d for a stack that was never defined", id)
	}
	if l := w.Loss(); l.Evicted != 2 || w.Loss().Evicted != 0 {
		t.Errorf("got %d without room, want 2, told once", l.Evicted)
	}
	r.ids = always(0)
	if id := r.id(&event.Event{}); id != stack.None {
		t.Errorf("got number %d for an event without a stack", id)
	}
}

type always uint64

func (a always) StreamID(*event.Event) uint64 { return uint64(a) }
