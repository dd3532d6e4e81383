package frontend

import (
	"strings"
	"testing"

	"ppscript/runtime/expr"
	"ppscript/runtime/script"
	"ppscript/runtime/script/value"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// Operations that fail for each event are errors of the check, with the types that they have.
func TestRefused(t *testing.T) {
	f := func(src, want string) {
		t.Helper()
		names := value.Units()
		h := script.NewHost(script.HostOptions{Predeclared: names})
		if strings.HasPrefix(src, "lambda") {
			src = "f = " + src
		}
		m, err := h.LoadSource("f.star", "LIMIT = 5\n"+src+"\n")
		if err != nil {
			t.Fatal(err)
		}
		fn, err := NewFunc(h, m.Globals["f"].(starlark.Callable))
		if err != nil {
			t.Fatal(err)
		}
		err = fn.Check([]*expr.Scope{{Schema: wakeup()}})
		got := ""
		if err != nil {
			got = err.Error()
			if d, ok := err.(*diag.Error); !ok || !strings.HasPrefix(d.Pos, "f.star:") {
				t.Errorf("%s: error %v has no place", src, err)
			}
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: got error %q, want %q", src, got, want)
		}
	}
	// Comparisons.
	f("lambda e: e.comm > 3", "a string is compared with an int")
	f("lambda e: 3 == e.comm", "an int is compared with a string")
	f("lambda e: e.comm != e.pid", "a string is compared with an int")
	f("lambda e: e.wait < 'x'", "a duration is compared with a string")
	f("lambda e: e.wait == 1 * KiB", "a duration is compared with a size")
	f("lambda e: e.time > 5", "a time is compared with an int")
	f("lambda e: (e.pid > 1) == 1", "a bool is compared with an int")
	f("lambda e: e.pid > 1 * KiB and e.wait > 1000 and 1.5 < e.wait and e.pid < 2.5", "")
	f("lambda e: e.comm < 'b' and (e.pid > 1) == (e.cpu > 1)", "")
	// Membership and look-ups.
	f("lambda e: e.comm in (1, 2)", "a string is looked for among values that are an int each")
	f("lambda e: e.wait in (1, 2)", "a duration is looked for among values that are an int each")
	f("lambda e: e.pid in e.comm", "requires string as left operand")
	f("lambda e: 'x' in e.pid", "unknown binary op: string in int")
	f("lambda e: e.pid in (1, 'x') or e.comm in ('a', e.comm)", "")
	f("lambda e: {1: 'a'}[e.comm]", "a string is looked up in a dict whose keys are an int each")
	f("lambda e: {1: 'a', 'x': 'b'}[e.comm]", "")
	// Arithmetic, signs, formats.
	f("lambda e: e.comm + 1", "unknown binary op: string + int")
	f("lambda e: e.wait + 5", "unknown binary op: duration + int")
	f("lambda e: e.time * 2", "unknown binary op: time * int")
	f("lambda e: e.pid & e.wait", "unknown binary op: int & duration")
	f("lambda e: -e.comm", "unknown unary op: - string")
	f("lambda e: ~e.wait", "unknown unary op: ~ duration")
	f("lambda e: '%d' % e.comm", "format requires integer")
	f("lambda e: '%d %s' % (e.comm, e.pid)", "format requires integer")
	f("lambda e: '%d' % (e.pid, e.pid)", "too many arguments for format string")
	f("lambda e: '%s %d' % (e.comm, e.pid)", "")
	f("def f(e):\n    n = e.pid\n    return n + e.comm", "unknown binary op: int + string")
	// Parts, attributes, methods, calls.
	f("lambda e: e.pid[0]", "an int has no elements")
	f("lambda e: e.comm['a']", "a string is the index of a string, want an int")
	f("lambda e: e.pid.ns", "an int has no .ns")
	f("lambda e: e.wait.hours", "a duration has no .hours")
	f("lambda e: e.comm.startswith(3)", "startswith: got int, want string")
	f("lambda e: e.comm.split(e.pid)", "split: got int for separator, want string")
	f("lambda e: e.comm.find('x') + len(e.comm.upper()) + e.wait.ns", "")
	f("lambda e: len(e.pid)", "len(int): value of type int has no len")
	f("lambda e: min(e.comm, 3)", "min(string, int)")
	f("lambda e: abs(e.comm)", "abs(string)")
	f("lambda e: len(e)", "len: got event, want a value")
	f("lambda e: max(e.comm, e.comm, e.comm, e.comm, e.comm, e.comm, e.comm, e.comm, e.comm, e.comm, 1)", "")
	f("lambda e: int(e.comm) + max(e.pid, 1) + ord(e.comm[0])", "")
	f("lambda e: LIMIT(e)", "an int is called, want a function")
	f("def pair(a, b):\n    return a\ndef f(e):\n    return pair(e.pid)", "function pair: got 1 arguments, want 2")
	f("def f(e):\n    for x in e.pid:\n        return x", "an int has no elements to go through")
	// It is not known, or it is one of several kinds: nothing is said.
	f("def f(e):\n    x = None\n    if e.pid > 1:\n        x = e.comm\n    return x > 3", "")
	f("def f(e):\n    x = 0\n    for y in [1, 2]:\n        if e.pid:\n            x = 'a'\n    return x + 'b'", "")
	f("def g(e):\n    if e.pid > 1:\n        return 1\nf = lambda e: g(e) == 'x'", "")
	f("lambda e: hasattr(e, 'x') and getattr(e, 'x') > 3", "")
}

// A float where whole numbers are added up is an error of the check, unless it may be a whole number too.
func TestGivesFloats(t *testing.T) {
	f := func(src string, want expr.Kind, refused string) {
		t.Helper()
		_, fn := newFunc(t, src)
		got := ""
		if err := fn.Gives(&expr.Scope{Schema: wakeup()}, want); err != nil {
			got = err.Error()
		}
		if refused == "" && got != "" || !strings.Contains(got, refused) {
			t.Errorf("%s: got %q, want %q", src, got, refused)
		}
	}
	f("f = lambda e: e.pid / 4", expr.Int, "gives a float, want an integer")
	f("f = lambda e: e.pid // 4", expr.Int, "")
	f("f = lambda e: e.pid / 4", expr.Float, "")
	f("f = lambda e: e.wait / 2", expr.Int, "")
	f("f = lambda e: e.comm", expr.Int, "gives a string, want a number")
}
