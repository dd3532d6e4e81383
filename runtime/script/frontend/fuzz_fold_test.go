package frontend

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"ppscript/runtime/expr"
	"ppscript/runtime/script"
	"ppscript/runtime/script/value"
	"ppscript/runtime/system/limits"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// FuzzStep: whatever the body of a step function, binding and translating it
// gives an error of its kind or code, never a panic; and code gives what the
// interpreter gives.
func FuzzStep(f *testing.F) {
	for _, s := range []string{
		"emit(n = s.n)\n    s.n += 1", "if s.since: emit(d = e.time - s.since)\n    s.since = e.time",
		"return emit(n = s.n)",
		"for i in range(3):\n        if i == e.cpu: break\n        s.n += i",
		"a, b = e.pid, e.cpu\n    s.m = a if a > b else b",
		"s.name = e.comm[1:] + 'x'\n    s.on = not s.on", "x = DICT[e.cpu]\n    emit(x = x, n = len(s.name))",
		"s.n = e.addr", "s.n = 1 << 70", "s.took = e.wait + 1", "emit()", "emit(a = None)",
		"s.x = 5", "s = e", "e = s",
		"emit(a = [1])", "emit(a = s)", "while True: pass", "return lambda: s.n",
		"s.n = {1: 2}.get(e.cpu, 3)", "e.pid = 4", "emit(a = 1, a = 2)",
		"for s.n in [1, 2]: pass", "s.n, s.m = s.m, s.n", "(s.n) = 4", "[s.n for x in [1]]", "s.took //= 2",
		"s.n = -s.n\n    s.n <<= 2", "s.c[e.cpu] += 1", "s.c[s.c[0]] = s.c[-1]", "s.c = [1] * 3", "emit(c = s.c)",
		"c = s.c\n    for x in c: c[x % 3] += x", "s.c = 4", "s.c[0] = e.time", "s.c[e.comm] = 1", "s.n = s.c",
		"s.n = sum(s.c) + min(s.c) + len(s.c)", "s.c[1 if e.cpu else 2] //= e.cpu", "s.n = s.c[1:]", "s.c[0] <<= 3",
		"if 1 in s.c: s.c[9] = 1", "s.c, s.n = (4, 5, 6), 7", "s.c.append(1)", "s.c += [1]", "s.c = s.c",
	} {
		f.Add(s)
	}
	schema := named()
	sc := &expr.Scope{Schema: schema}
	r := rand.New(rand.NewPCG(1, 2))
	f.Fuzz(func(t *testing.T, body string) {
		if strings.Contains(body, "**") || len(body) > 400 {
			return
		}
		h := script.NewHost(script.HostOptions{
			Predeclared: randomNames(), Limits: limits.Policy{Steps: 10_000, CallSteps: 10_000},
			Print: func(string) {},
		})
		if !strings.Contains(body, "emit(") {
			body = "if s.n == 99: emit(n = 1)\n    " + body // a fold without is refused
		}
		mod, err := h.LoadSource("f.star", "DICT = {0: 5, 1: 7}\ndef step(s, e):\n    "+body+"\n")
		if err != nil {
			return
		}
		fn, ok := mod.Globals["step"].(*starlark.Function)
		if !ok {
			return
		}
		d := starlark.NewDict(6)
		for _, kv := range []starlark.Tuple{{starlark.String("n"), starlark.MakeInt(0)},
			{starlark.String("m"), starlark.MakeInt(5)},
			{starlark.String("since"), starlark.MakeInt(0)}, {starlark.String("took"), value.Duration(0)},
			{starlark.String("c"), starlark.NewList([]starlark.Value{starlark.MakeInt(0), starlark.MakeInt(0),
				starlark.MakeInt(0)})},
			{starlark.String("on"), starlark.False}, {starlark.String("name"), starlark.String("")}} {
			if err := d.SetKey(kv[0], kv[1]); err != nil {
				t.Fatal(err)
			}
		}
		m, err := NewMachine(h, d, fn, nil)
		if err == nil {
			err = m.Bind([]*expr.Scope{sc}, nil)
		}
		if err != nil {
			var de *diag.Error
			if !errors.As(err, &de) || strings.Contains(err.Error(), "BUG") {
				t.Fatalf("got %T %v", err, err)
			}
			return
		}
		n, err := m.LowerStep(sc)
		if err != nil {
			var why *notLowered
			if !errors.As(err, &why) {
				t.Fatalf("got %T %v", err, err)
			}
			return
		}
		native, interpreted := newRunner(m, expr.Build(n).Run), newRunner(m, m.Run)
		for range 8 {
			e := randomSample(r, schema)
			a, b := native.run(e), interpreted.run(e)
			if strings.Contains(reason(interpreted.frame.Err), "steps") {
				return // it took too long
			}
			if a != b {
				t.Fatalf("%s\nnative      %s\ninterpreted %s (%v)", body, a, b, interpreted.frame.Err)
			}
		}
	})
}
