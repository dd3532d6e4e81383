package frontend

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script"

	"go.starlark.net/starlark"
)

// plainly has f run by the interpreter only.
func plainly(f *Func) *Func {
	f.short = shortcut{tried: true}
	return f
}

// sameDirectly runs a function directly, and by the interpreter.
func sameDirectly(t *testing.T, r *rand.Rand, s *event.Schema, src string) {
	t.Helper()
	a, b := loadRandom(t, src), plainly(loadRandom(t, src))
	for range 20 {
		e := randomSample(r, s)
		got, gerr := a.Call(e)
		want, werr := b.Call(e)
		if errText(gerr) != errText(werr) ||
			gerr == nil && (got.Kind != want.Kind || got.Compare(want) != 0) {
			t.Fatalf("%s\ndirectly %v %v (%v), interpreted %v %v (%v)", src, got.Kind, got, gerr,
				want.Kind, want, werr)
		}
	}
}

// stepsDirectly runs a step function of two machines on the same events.
func stepsDirectly(t *testing.T, r *rand.Rand, s *event.Schema, src string, one, other *Machine) {
	t.Helper()
	plainly(other.step.Func)
	a, b := newRunner(one, one.Run), newRunner(other, other.Run)
	for range 20 {
		e := randomSample(r, s)
		x, y := a.run(e), b.run(e)
		if x != y || errText(a.frame.Err) != errText(b.frame.Err) {
			t.Fatalf("%s\ndirectly    %s %v\ninterpreted %s %v", src, x, a.frame.Err, y, b.frame.Err)
		}
	}
}

// Which functions run directly, with the interpreter's results and errors.
func TestDirect(t *testing.T) {
	f := func(direct bool, src string) {
		t.Helper()
		_, fn := newFunc(t, src)
		_, plain := newFunc(t, src)
		plainly(plain)
		for pid := range 4 {
			e := sample(wakeup(), int32(pid), "bash")
			got, gerr := fn.CallValue(e)
			want, werr := plain.CallValue(e)
			if errText(gerr) != errText(werr) || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s:\n got %v, %v\nwant %v, %v", src, got, gerr, want, werr)
			}
		}
		if got := fn.short.fn != nil; got != direct {
			t.Errorf("%s: runs directly: got %v, want %v", src, got, direct)
		}
	}
	f(true, "f = lambda e: e.pid // (e.pid - 2)")
	f(true, "f = lambda e: {1: 'one', 2: 'two'}[e.pid] if e.pid in (1, 2) else [e.pid][e.pid]")
	f(true, "D = {1: 'one', 2: 'two'}\nf = lambda e: D[e.pid] if e.pid in D else (e.comm, -e.pid, not e.pid)")
	f(true, "f = lambda e: e.comm.startswith('ba') and e.comm.upper() + e.comm.replace('a', 'o')")
	f(true, "f = lambda e: e.nothing_like_it if e.pid == 2 else 10 * 1000")
	f(true, "f = lambda e: (e.pid + 9223372036854775805, e.pid << 62, e.pid / 2, 'x%d' % e.pid)")
	f(true, "f = lambda e: (e.pid == 1 or 'no', e.pid and e.comm, e.pid == e.comm, e.comm < 'c')")
	f(true, "f = lambda e: min(e.pid, 2) + len(e.comm)")
	f(true, "f = lambda e: e.pid * 4611686018427387904 > 9 or e.pid - 9223372036854775807 - 3 < 0")
	f(true, "f = lambda e: (e.time - e.time == 0, 1)")
	f(true, "f = lambda e: (e.time - e.time) * e.pid < 5 * us and e.time > e.time and e.pid % 2 == e.pid & 1")
	f(true, "f = lambda e: 'zero' if not e.pid else e.pid // e.pid if e.time else 7")
	f(true, "f = lambda e: sorted([3, e.pid, 1], reverse = True)")
	f(true, "def g(a, b = 5):\n    return a * b\ndef f(e):\n    return g(e.pid) + g(e.pid, 2)")
	f(true, `
def f(e):
    n, text = 0, ""
    for i in range(10):
        if i == e.pid:
            continue
        if i > 7:
            break
        n += i
        text += str(i)
    a, (b, c) = n, (text, e.comm)
    if e.pid == 3:
        return
    return a, b, c, unset if e.pid == 2 else 0
    unset = 1
`)
	f(true, "def f(e):\n    for i in range(100000):\n        if i == 90000 * e.pid: return i\n    return -1")
	f(true, "f = lambda e: [(x, y) for x in [e.pid, 2, 3] if x < 3 for y in range(x) if y != 1] + [e.pid]")
	f(true, "f = lambda e: [[x * y for x in range(e.pid)] for y in range(3)]")
	f(true, "f = lambda e: {x: {y: x for y in 'ab'.elems()} for x in range(e.pid)}")
	f(true, "f = lambda e: {e.pid: 1, 2: 2}")
	f(true, "f = lambda e: (e.comm[e.pid:], e.comm[:-e.pid], e.comm[-3:e.pid], [1, 2, 3][e.pid:1], e.comm[9:])")
	f(false, "f = lambda e: e.comm[::2]")
	f(false, "f = lambda e: (lambda: e.pid)()")
	f(false, "def f(e):\n    print(e.pid)\n    return 1")
	f(false, "def f(e):\n    x = [1, 2]\n    x[0] = e.pid\n    return x")
	f(false, "def g(n):\n    return f(n)\ndef f(e):\n    return g(e)")
}

// What a call did before it failed is undone before the interpreter makes it again,
// and what it emitted is not emitted twice.
func TestDirectStepsAreUndone(t *testing.T) {
	const src = `
def step(s, e):
    s.n += 1
    s.name = "n%d" % s.n
    emit(i = s.n)
    s.c = [s.n, e.pid]
    if e.pid == 1:
        emit(i = 100 // (e.pid - 1))
    if e.pid == 2:
        x = [1]
        x += [2]
        emit(i = len(x))
`
	sc := &expr.Scope{Schema: wakeup()}
	var out [2]string
	for i := range out {
		m := stepMachine(t, src, sc)
		if i == 1 {
			plainly(m.step.Func)
		}
		r := newRunner(m, m.Run)
		for _, pid := range []int32{0, 1, 2, 0, 2, 1} {
			out[i] += r.run(sample(wakeup(), pid, "x")) + fmt.Sprintln(r.frame.Err)
		}
		if direct := m.step.short.fn != nil; direct != (i == 0) {
			t.Errorf("runs directly: got %v, want %v", direct, i == 0)
		}
	}
	if out[0] != out[1] || !strings.Contains(out[0], " 5: ") || !strings.Contains(out[0], "zero") {
		t.Errorf("directly\n%s\ninterpreted\n%s", out[0], out[1])
	}
}

func stepMachine(t *testing.T, src string, sc *expr.Scope) *Machine {
	t.Helper()
	h := script.NewHost(script.HostOptions{Predeclared: randomNames()})
	mod, err := h.LoadSource("f.star", src)
	if err != nil {
		t.Fatal(err)
	}
	d := starlark.NewDict(3)
	for _, kv := range []starlark.Tuple{ // in the order of the slots
		{starlark.String("n"), starlark.MakeInt(0)},
		{starlark.String("name"), starlark.String("")},
		{starlark.String("c"), starlark.NewList([]starlark.Value{starlark.MakeInt(0), starlark.MakeInt(0)})},
	} {
		if err := d.SetKey(kv[0], kv[1]); err != nil {
			t.Fatal(err)
		}
	}
	m, err := NewMachine(h, d, mod.Globals["step"].(starlark.Callable), nil)
	if err == nil {
		err = m.Bind([]*expr.Scope{sc}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// What only the interpreter can do is soon left to it.
func TestDirectGivesUp(t *testing.T) {
	_, fn := newFunc(t, "def f(e):\n    x = [e.pid]\n    x += [1]\n    return len(x)")
	for i := range tooOften + 2 {
		if v, err := fn.Call(sample(wakeup(), 1, "x")); err != nil || v.Int() != 2 {
			t.Fatalf("call %d: got %v, %v, want 2", i, v, err)
		}
	}
	if fn.short.fn != nil {
		t.Errorf("is still tried after %d calls", tooOften+2)
	}
}
