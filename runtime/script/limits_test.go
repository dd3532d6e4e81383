package script

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/system/limits"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// One policy bounds a script wherever its code runs. The error says which limit, where, and how it
// is raised.
func TestLimitsHoldEverywhere(t *testing.T) {
	const endless = "    while True:\n        pass\n"
	const hoards = "    l = []\n    for i in range(1 << 20):\n        l.append(\"x\" * 1000 + str(i))\n"
	const nests = "    l = []\n    for i in range(30):\n        l = [l]\n    return l\n"
	for _, c := range []struct {
		limit, body, want string
		in                limits.Policy
		helper            string // the word of its own limit; "" is the same, - is none
	}{
		{limits.Steps, endless, "stopped after 300000 steps",
			limits.Policy{Steps: 300_000, CallSteps: 300_000}, limits.CallSteps},
		{limits.Time, endless, "stopped after 30ms", limits.Policy{Steps: 1 << 40, CallSteps: 1 << 40,
			Time: 30 * time.Millisecond}, ""},
		{limits.Memory, hoards, "larger than 16 MiB", limits.Policy{Memory: 16 << 20}, ""},
		{limits.Depth, nests, "more than 20 deep", limits.Policy{Depth: 20}, "-"},
	} {
		for _, place := range []string{"load", "main", "callback", "prompt", "helper"} {
			if place == "helper" && c.helper == "-" {
				continue // its values are numbers and texts
			}
			h := NewHost(HostOptions{Limits: c.in})
			text := "def on_interval():\n" + c.body
			if place == "load" {
				text += "x = on_interval()\n"
			}
			m, err := h.LoadSource("x.star", text)
			if place != "load" && err != nil {
				t.Fatal(err)
			}
			var fn starlark.Callable
			if place != "load" {
				fn = m.Globals["on_interval"].(starlark.Callable)
			}
			switch place {
			case "main":
				_, err = h.Call(fn)
			case "callback":
				call, cerr := h.Callback(m, "on_interval", 0)
				if cerr != nil {
					t.Fatal(cerr)
				}
				err = call()
			case "prompt":
				_, err = h.NewREPL().Exec(text + "\non_interval()")
			case "helper":
				th := h.EventThread("on_interval")
				for range 2 { // it is the same for the next event
					th.Restart()
					if _, err = starlark.Call(th.Thread, fn, nil, nil); err == nil {
						break
					}
					err = th.Explain(err)
				}
			}
			what := fmt.Sprintf("%s of %s", c.limit, place)
			var d *diag.Error
			if !errors.As(err, &d) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %q", what, err, c.want)
				continue
			}
			word := c.limit
			if place == "helper" && c.helper != "" {
				word = c.helper
			}
			if c.limit != limits.Depth && !strings.Contains(d.Hint, limits.File+": "+word+" ") {
				t.Errorf("%s: got hint %q, want the line of %s that raises it", what, d.Hint, limits.File)
			}
			if d.Pos == "" && (place != "prompt" || c.limit != limits.Depth) {
				t.Errorf("%s: got %v without a place", what, err)
			}
		}
	}
}

// A helper that keeps to its limits is not stopped, however often it is called.
func TestHelpersMayBeCalledForEver(t *testing.T) {
	h := NewHost(HostOptions{Limits: limits.Policy{CallSteps: 1_000_000}})
	const sum = "def f():\n    n = 0\n    for i in range(30000):\n        n += i\n    return n\n"
	m, err := h.LoadSource("x.star", sum)
	if err != nil {
		t.Fatal(err)
	}
	th := h.EventThread("f")
	for range 100 {
		th.Restart()
		if _, err := starlark.Call(th.Thread, m.Globals["f"], nil, nil); err != nil {
			t.Fatal(th.Explain(err))
		}
	}
}
