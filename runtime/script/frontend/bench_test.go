package frontend

import (
	"testing"

	"ppscript/runtime/expr"
	"ppscript/runtime/script"

	"go.starlark.net/starlark"
)

// BenchmarkPrepare is what a plan does with each function before it opens
// anything: check its fields, infer what it returns and reads, translate it.
func BenchmarkPrepare(b *testing.B) {
	const src = `
STATES = {0: "R", 1: "S", 2: "D"}
def wait(s, e):
    return e.time - s.since if s.since else 0 * ns
def pred(e):
    if e.cpu > 3 and e.comm == "x":
        return False
    for c in ["a", "b", "c"]:
        if e.comm.startswith(c):
            return True
    return e.pid > 100
def step(s, e):
    if e.pid == 0:
        s.since = 0
        return
    w = wait(s, e)
    if w > 10 * us:
        emit(wait = w, name = e.comm, n = s.n)
    s.n += 1
    s.since = e.time
`
	h := script.NewHost(script.HostOptions{Predeclared: randomNames(), Print: func(string) {}})
	m, err := h.LoadSource("f.star", src)
	if err != nil {
		b.Fatal(err)
	}
	sc := &expr.Scope{Schema: named()}
	b.Run("predicate", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f, err := NewFunc(h, m.Globals["pred"].(starlark.Callable))
			if err != nil {
				b.Fatal(err)
			}
			if err := f.Check([]*expr.Scope{sc}); err != nil {
				b.Fatal(err)
			}
			if _, exact := f.Reads(); !exact {
				b.Fatal("the event escapes")
			}
			f.Result([]*expr.Scope{sc})
			if _, err := f.Lower(sc, expr.Bool); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("fold", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			state := starlark.NewDict(2)
			state.SetKey(starlark.String("since"), starlark.MakeInt(0))
			state.SetKey(starlark.String("n"), starlark.MakeInt(0))
			f, err := NewMachine(h, state, m.Globals["step"].(starlark.Callable), nil)
			if err != nil {
				b.Fatal(err)
			}
			if err := f.Bind([]*expr.Scope{sc}, nil); err != nil {
				b.Fatal(err)
			}
			if _, exact := f.Reads(); !exact {
				b.Fatal("the event escapes")
			}
			if _, err := f.LowerStep(sc); err != nil {
				b.Fatal(err)
			}
		}
	})
}
