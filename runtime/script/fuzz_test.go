package script

import (
	"errors"
	"strings"
	"testing"

	"ppscript/runtime/diag"

	"go.starlark.net/starlark"
)

// FuzzLoad: whatever the text, loading it gives a module or one diag.Error
// with a position, and never a bug.
func FuzzLoad(f *testing.F) {
	for _, s := range []string{
		"x = 1\n", "def main(o):\n\treturn o.x\n", "load('./a.star', 'b')", "load('@stdlib//../a.star', 'b')",
		"load('x//y.star', 'b')", "x = (", "\"\"\"doc\n  more\n\"\"\"\n", "lambda e: e.x", "x = 'é' + lenn\n",
		"while True: pass", "main = 5", "\xff\xfe", "def f(): return f()\nf()", "x = 5 * ms > 3", "a.b.c()",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "*") {
			return // repetition may ask for gigabytes
		}
		h := NewHost(HostOptions{Predeclared: Units(), MaxSteps: 10_000, Print: func(string) {},
			Resolve: func(string, string) (string, []byte, error) { return "", nil, errors.New("none") }})
		m, err := h.LoadSource("f.star", text)
		if (err == nil) == (m == nil) {
			t.Fatalf("got module %v and error %v", m, err)
		}
		if err == nil {
			return
		}
		var d *diag.Error
		if !errors.As(err, &d) {
			t.Fatalf("got %T %v, want a diag.Error", err, err)
		}
		if strings.Contains(err.Error(), "BUG") || strings.Contains(err.Error(), "goroutine") {
			t.Fatalf("got %v", err)
		}
	})
}

// FuzzOption: a text is a value of the option's type or a Usage error with
// the option's name; a value's own text gives the value again.
func FuzzOption(f *testing.F) {
	for _, s := range []string{"1", "10ms", "1.5us", "64k", "-1", "0x10", "1e400", "nan", "", "a,b", "99999999999999999999s", "µs", "true"} {
		f.Add(s)
	}
	types := []OptionType{OptString, OptInt, OptFloat, OptFlag, OptDuration, OptSize, OptChoice, OptEvents}
	f.Fuzz(func(t *testing.T, text string) {
		for _, typ := range types {
			for _, list := range []bool{false, true} {
				o := Option{Name: "x", Type: typ, List: list, Choices: []string{"a", "b"}, Bare: 1e6}
				v, err := o.Parse(text)
				if err != nil {
					if diag.ClassOf(err) != diag.Usage || !strings.Contains(err.Error(), "--x") {
						t.Fatalf("%s %q: got %v", typ, text, err)
					}
					continue
				}
				if list {
					if v.(starlark.Tuple).Len() == 0 {
						t.Fatalf("%s %q: got an empty list", typ, text)
					}
					continue
				}
				if w, err := o.Convert(v); err != nil || w != v {
					t.Fatalf("%s %q: value %v converts to %v, %v", typ, text, v, w, err)
				}
			}
		}
	})
}
