package result

import (
	"fmt"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/text/unit"
)

func TestFlat(t *testing.T) {
	libc := func(symbol string) *Frame { return &Frame{Symbol: symbol, DSO: "/lib/libc.so.6", Addr: 1} }
	inlined := &Frame{Symbol: "inner", DSO: "/lib/libc.so.6", Addr: 1, Inline: true}
	stripped := &Frame{DSO: "/bin/sh", Addr: 2}
	sample := func(comm string, n uint64, frames ...*Frame) StackSample {
		return StackSample{Key: []event.Value{event.StrOf(comm)}, CallStack: StackOf(frames...),
			Count: n, Value: int64(n) * 10}
	}
	s := &Stacks{Keys: []Column{{Name: "comm", Left: true}}, Value: "time", Unit: unit.US}
	s.Samples = []StackSample{
		sample("sh", 1, libc("malloc"), stripped),
		sample("cat", 4, inlined, libc("malloc")),
		sample("sh", 2, stripped),
		sample("cat", 1, libc("free")),
		sample("cat", 2),
	}
	f := func(by string, top int, want ...string) {
		t.Helper()
		table, err := s.Flat(strings.Split(by, ","), top)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range table.Rows {
			text := fmt.Sprintf("%g %d %d", r[0].Float(), r[1].Uint(), r[2].Int())
			for _, v := range r[3:] {
				text += " " + v.String()
			}
			got = append(got, text)
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("by %s: got %q, want %q", by, got, want)
		}
	}
	f("dso", 0, "60 6 60 libc.so.6", "20 2 20 sh", "20 2 20 [unknown]")
	f("symbol", 0, "50 5 50 malloc", "20 2 20 [sh]", "20 2 20 [unknown]", "10 1 10 free")
	f("comm,dso", 2, "50 5 50 cat libc.so.6", "20 2 20 sh sh")
	f("comm", 0, "70 7 70 cat", "30 3 30 sh")

	if table, _ := s.Flat([]string{"comm", "dso"}, 2); table.Omitted != 2 {
		t.Errorf("omitted: got %d, want 2", table.Omitted)
	}
	if _, err := s.Flat([]string{"sym"}, 0); err == nil {
		t.Error("a key that does not exist: got no error")
	}
}
