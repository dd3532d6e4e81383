package result

import (
	"fmt"
	"testing"

	"ppscript/runtime/event"
)

func TestStacksByWeight(t *testing.T) {
	s := Stacks{Samples: []StackSample{
		{PID: 1, Count: 2, Value: 70}, {PID: 2, Count: 9, Value: 1}, {PID: 3, Count: 2, Value: 30},
	}}
	order := func() (pids [3]int32) {
		s.Sort()
		for i := range s.Samples {
			pids[i] = s.Samples[i].PID
		}
		return pids
	}
	if got, want := order(), [3]int32{2, 1, 3}; got != want {
		t.Errorf("by count: got %v, want %v", got, want)
	}
	s.Value = "bytes"
	if got, want := order(), [3]int32{1, 3, 2}; got != want {
		t.Errorf("by value: got %v, want %v", got, want)
	}
	if n, v := s.Total(); n != 13 || v != 101 {
		t.Errorf("got total %d and %d, want 13 and 101", n, v)
	}
	if s.Top(1); len(s.Samples) != 1 || s.Omitted != 2 || s.Samples[0].PID != 1 {
		t.Errorf("top 1: got %+v, %d omitted", s.Samples, s.Omitted)
	}
	if n, v := s.Total(); n != 13 || v != 101 {
		t.Errorf("after top: got total %d and %d, want that of all, 13 and 101", n, v)
	}
	if s.Top(5); s.Omitted != 2 {
		t.Errorf("top 5 of one: got %d omitted, want 2", s.Omitted)
	}
}

// TestEqualStacksAreMerged checks that two processes with one program have equal stacks at other
// addresses.
func TestEqualStacksAreMerged(t *testing.T) {
	named := func(addr, off uint64) *Frame {
		return &Frame{Addr: addr, Symbol: "f", Offset: off, DSO: "/bin/x"}
	}
	nowhere := func(addr uint64) *Frame { return &Frame{Addr: addr, Offset: addr} }
	sample := func(pid int32, comm string, count uint64, frames ...*Frame) StackSample {
		return StackSample{
			PID:       pid,
			Key:       []event.Value{event.StrOf(comm)},
			CallStack: CallStack{Frames: frames},
			Count:     count,
			Value:     int64(10 * count),
		}
	}
	cut := sample(1, "a", 1, named(0x100, 4))
	cut.Cut = true
	shared := named(0x100, 4)
	s := Stacks{Samples: []StackSample{
		sample(1, "a", 1, shared, named(0x108, 12)),
		sample(2, "a", 2, named(0x9100, 4), named(0x9108, 12)),
		sample(2, "a", 4, named(0x9104, 8), named(0x9108, 12)), // another place
		sample(1, "b", 8, shared, named(0x108, 12)),            // another name
		sample(1, "a", 16, shared),
		cut,
		sample(1, "a", 32, nowhere(0x500)),
		sample(2, "a", 64, nowhere(0x600)), // nobody knows whether they are the same
		sample(1, "a", 128, shared),
	}}
	s.Merge()
	got := ""
	for _, x := range s.Samples {
		got += fmt.Sprint(x.PID, x.Key, len(x.Frames), x.Count, x.Value, x.Cut, "; ")
	}
	want := "-1 [a] 2 3 30 false; 2 [a] 2 4 40 false; 1 [b] 2 8 80 false; 1 [a] 1 144 1440 false; 1 [a] 1 1 10 true; 1 [a] 1 32 320 false; 2 [a] 1 64 640 false; "
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if n, v := s.Total(); n != 256 || v != 2560 {
		t.Errorf("got total %d and %d, want 256 and 2560", n, v)
	}
}
