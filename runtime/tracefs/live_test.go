package tracefs

import (
	"os"
	"strings"
	"testing"

	"ppscript/runtime/event"
)

// live returns this machine's tracefs; the test is skipped without it.
func live(t testing.TB) *FS {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if _, err := os.Stat(mountPoint); err != nil {
		t.Skip("needs a kernel with tracefs")
	}
	f, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func split(t testing.TB, name string) (sys, ev string) {
	sys, ev, ok := strings.Cut(name, ":")
	if !ok {
		t.Fatalf("event name: got %q, want sys:name", name)
	}
	return sys, ev
}

func TestLiveEveryFormatParses(t *testing.T) {
	f := live(t)
	names, err := f.Events()
	if err != nil {
		t.Fatal(err)
	}
	if len(names) < 500 {
		t.Errorf("got %d events, want at least 500", len(names))
	}
	ids := map[uint64]string{}
	for _, name := range names {
		sys, ev := split(t, name)
		s, err := f.Schema(sys, ev)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if s.FullName() != name || s.PrintFmt == "" {
			t.Errorf("%s: got name %s, print fmt %q", name, s.FullName(), s.PrintFmt)
		}
		if other := ids[s.ID]; other != "" {
			t.Errorf("%s and %s: same id %d", name, other, s.ID)
		}
		ids[s.ID] = name
		for _, fl := range s.Fields {
			if strings.HasPrefix(fl.Type, "char[") && fl.Kind != event.Str {
				t.Errorf("%s: %s: got kind %d, want text", name, &fl, fl.Kind)
			}
			if fl.Kind == event.Array && fl.Elem == 0 {
				t.Errorf("%s: %s: array without element size", name, &fl)
			}
			if fl.Kind == event.Bytes && !aggregate(fl.Type) {
				t.Errorf("%s: %s: not classified", name, &fl)
			}
		}
	}
}

// BenchmarkSchema is what opening one event costs, the kernel's part included.
func BenchmarkSchema(b *testing.B) {
	f := live(b)
	b.ReportAllocs()
	for b.Loop() {
		clear(f.schemas)
		if _, err := f.Schema("sched", "sched_switch"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEvents(b *testing.B) {
	f := live(b)
	for b.Loop() {
		if _, err := f.Events(); err != nil {
			b.Fatal(err)
		}
	}
}
