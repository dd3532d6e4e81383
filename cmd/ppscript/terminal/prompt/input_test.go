package prompt

import (
	"testing"

	"ppscript/docs"
)

func TestIndentation(t *testing.T) {
	f := func(before, want string) {
		t.Helper()
		if got := Indentation(before); got != want {
			t.Errorf("%q: got %q, want %q", before, got, want)
		}
	}
	f("", "")
	f("def f(e):\n", "    ")
	f("def f(e):\n    if e:\n", "        ")
	f("def f(e):\n    if e:\n        return 1\n", "    ")
	f("def f(e):\n    x = 1\n", "    ")
	f("x = join(\n", "    ")
	f("x = join(\n    [a,\n", "        ")
	f("x = join(\n    [a],\n", "    ")
	f("x = \"\"\"a\n", "")
}

func TestAsks(t *testing.T) {
	f := func(statement, want string, asks bool) {
		t.Helper()
		if got, ok := Asks(statement); got != want || ok != asks {
			t.Errorf("%q: got %q, %v, want %q, %v", statement, got, ok, want, asks)
		}
	}
	f("?\n", "", true)
	f("help\n", "", true)
	f("help stream.by\n", "stream.by", true)
	f("?join\n", "join", true)
	f("join?\n", "join", true)
	f("?sched:sched_*\n", "sched:sched_*", true)
	f("?kvm-exit", "kvm-exit", true)
	f("help(join)\n", "", false)
	f("x = 1\n", "", false)
	f("helper\n", "", false)
}

func TestCorrected(t *testing.T) {
	f := func(statement, message, want string) {
		t.Helper()
		if got, _ := corrected(statement, message); got != want {
			t.Errorf("%s: got %q, want %q", message, got, want)
		}
	}
	f(`tracepoint("sched:sched_swich").count()`,
		"open tracepoint sched:sched_swich: no such event (did you mean sched:sched_switch?)",
		`tracepoint("sched:sched_switch").count()`)
	f(`x.by("prev_com").count()`,
		"expression 'prev_com': column 1: unknown variable prev_com (did you mean prev_comm?)",
		`x.by("prev_comm").count()`)
	f("tracepont(1)", "undefined name tracepont (did you mean tracepoint?)", "tracepoint(1)")
	f("x.cont()", "stream has no cont (did you mean count?)", "x.count()")
	f("1 + 2", "nothing of the kind (did you mean x?)", "")
	f("1 + 2", "unknown binary op", "")
}

// Each page that errors lead to is there.
func TestPages(t *testing.T) {
	for _, p := range pages {
		if _, ok := docs.Page(p.page); !ok {
			t.Errorf("no page %s", p.page)
		}
	}
}
