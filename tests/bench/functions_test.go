package main

import (
	"strings"
	"testing"
)

// The table is measured with a size that takes no time; functions checks that
// both engines compute the same.
func TestFunctions(t *testing.T) {
	rows, err := functions(4 * chunk)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 9 {
		t.Errorf("got %d rows, want 6 of functions and 3 of groups", len(rows))
	}
	for i, r := range rows {
		if r.native <= 0 || r.interpreted <= 0 && i < 6 {
			t.Errorf("%s: got %.1f ns native, %.1f interpreted", r.name, r.native, r.interpreted)
		}
	}
	var b strings.Builder
	printFunctions(&b, []timing{{"f", 5, 100, 6, 130}, {"g", 20, 500, 0, 0}})
	got := strings.Join(strings.Fields(b.String()), " ")
	want := "functions of a script, ns per event native allowed interpreted allowed ratio f 5.0 6 100.0 130 20.0x g 20.0 - 500.0 - 25.0x"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Native functions must not allocate for an event.
func TestNativeFunctionsDoNotAllocate(t *testing.T) {
	b, err := newFunctionBench()
	if err != nil {
		t.Fatal(err)
	}
	for _, fn := range []string{"step", "busy"} {
		f, _, err := b.newFold(fn, false)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			f.Events(b.events)
		}
		if n := testing.AllocsPerRun(10, func() { f.Events(b.events) }); n != 0 {
			t.Errorf("%s: got %v allocations for %d events, want 0", fn, n, chunk)
		}
	}
}
