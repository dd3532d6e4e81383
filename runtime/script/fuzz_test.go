package script

import (
	"errors"
	"strings"
	"testing"

	"ppscript/runtime/script/value"
	"ppscript/runtime/system/limits"
	"ppscript/runtime/text/diag"
)

// FuzzLoad: loading any text gives a module or one diag.Error with a
// position, and never a bug.
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
		h := NewHost(HostOptions{Predeclared: value.Units(), Limits: limits.Policy{Steps: 10_000},
			Print:   func(string) {},
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
