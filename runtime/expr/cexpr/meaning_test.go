package cexpr

import (
	"strings"
	"testing"

	"ppscript/runtime/expr"
)

// Expressions that C allows and nobody means are errors: they would compare addresses, or
// assign where they should compare.
func TestCannotBeMeant(t *testing.T) {
	f := func(src, want string) {
		t.Helper()
		for _, compile := range []func() error{
			func() error { _, err := CompileCondition(src, testScope()); return err },
			func() error { _, err := CompileFilter(src, testScope()); return err },
		} {
			if err := compile(); err == nil || !strings.Contains(err.Error(), want) || !CannotBeMeant(err) {
				t.Errorf("%s: got error %v, want %q", src, err, want)
			}
		}
	}
	f("comm > 3", "column 1: a text is compared with a number")
	f("3 < comm", "column 5: a text is compared with a number")
	f("i32 == comm", "column 8: a text is compared with a number")
	f("comm + 1 > 3", "an address in the event is compared with a number")
	f("ints > 3", "an array is compared with a number")
	f("ntohl(comm) == 1", "ntohl: got a text, want a number")
	f("i32 = 0", "column 1: one = assigns, and is no condition")
	f("i32 > 0 && n8 = 3", "one = assigns")
	f("i32 > 0 && (n8 = 3)", "one = assigns")
	f("!(n8 = 3)", "one = assigns")
	f("n8 == 1, i32 = 4", "one = assigns")
	f("(n8 = 3) ? 1 : 0", "one = assigns")
}

// What is meant stays: texts by their bytes, pointers beside 0, elements of arrays, assignments
// that are no conditions.
func TestMeaningStays(t *testing.T) {
	e := testEvent()
	f := func(src, want string) {
		t.Helper()
		var fr expr.Frame
		fr.Reset(e)
		p, err := CompileCondition(src, testScope())
		if err != nil {
			t.Errorf("%s: %v", src, err)
			return
		}
		if got := p.Value(&fr).String(); got != want || fr.Err != nil {
			t.Errorf("%s: got %s, %v, want %s", src, got, fr.Err, want)
		}
	}
	f(`comm < "zzz"`, "1")
	f(`"zzz" <= comm`, "0")
	f(`comm > "a" && comm >= comm`, "1")
	f("ints[0] == ints[0]", "1")
	f("comm != 0", "1")
	f("({int x; x = 3; x == 3;})", "1")
	f("(i32 = 3) == 3", "1")
}
