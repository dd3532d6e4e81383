package frontend

import (
	"strings"
	"testing"
)

func TestReads(t *testing.T) {
	f := func(src, want string, wantExact bool) {
		t.Helper()
		_, fn := newFunc(t, src)
		names, exact := fn.Reads()
		if got := strings.Join(names, " "); got != want || exact != wantExact {
			t.Errorf("%s: got %q %v, want %q %v", src, got, exact, want, wantExact)
		}
	}
	f("f = lambda e: e.pid > 100 and (e).comm == 'x'", "comm pid", true)
	f("f = lambda p: p.start.pid + p.delay.ns", "delay pid start", true)
	f("f = lambda e: e.symbolic('prio')", "prio", true)
	f("f = lambda e: e.text()", "", false)
	f("f = lambda e: len(dir(e))", "", false)
	f("f = lambda e: [e][0].pid", "", false)
	f("f = lambda p: p.start", "start", false)
	f("def g(x, e): return e.cpu + x\nf = lambda e: g(e.pid, e)", "cpu pid", true)
	f("def g(x, e): return e.cpu + x\nf = lambda e: g(e = e, x = 1)", "", false)
	f("def f(p):\n    a = p.end\n    return a.tid", "end tid", true)
	f("def f(e):\n    g = lambda: e.tid\n    return g()", "tid", true)
	f("f = len", "", false)
}
