package frontend

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script"
	"ppscript/runtime/script/value"

	"go.starlark.net/starlark"
)

// This file is the differential test of the two engines on random programs. A
// generator writes functions that Starlark accepts; values are often at the
// ends of their ranges, so that errors are frequent. Both engines must give the
// same value, or fail for the same reason.

const randomPrelude = `
LIMIT = 50
DICT = {0: 5, 1: -1, 120: 7}
def half(x, by):
    q = x // 2
    if by > 100:
        return q
    q -= x // by
    return q
def level(e, high):
    if e.prio > 120 and high:
        return 2
    return 1 if e.comm else 0
def bump(s, by):
    s.c[1] += 1
    old = s.m
    s.m = by
    if by % 3 == 0:
        return old
    return old + s.m
`

// testLog2 is a builtin that can be compiled.
type testLog2 struct{ *starlark.Builtin }

func log2(x int64) int64 { return int64(bits.Len64(uint64(max(x, 0)))) - 1 }

func (testLog2) Refuses([]ArgType) error { return nil }

func (testLog2) Native() *Native {
	return &Native{Returns: IntKind, Compile: func(c *NativeCall) (NativeValue, bool) {
		if c.Len() != 1 || !c.Signed(0) {
			return NativeValue{}, false
		}
		return c.Make(expr.Native{Name: "log2", T: expr.TInt, Args: []expr.Node{c.Node(0)},
			HostOnly: "it is for this test",
			Int1:     func(_ *expr.Frame, x int64) int64 { return log2(x) }})
	}}
}

func randomNames() starlark.StringDict {
	names := value.Units()
	names["sum"] = testSum{starlark.NewBuiltin("sum", sumOf)}
	names["log2"] = testLog2{starlark.NewBuiltin("log2",
		func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple,
			_ []starlark.Tuple) (starlark.Value, error) {
			n, _ := toWord(args[0])
			return starlark.MakeInt64(log2(n)), nil
		})}
	names["emit"] = starlark.NewBuiltin("emit",
		func(t *starlark.Thread, _ *starlark.Builtin, _ starlark.Tuple,
			kw []starlark.Tuple) (starlark.Value, error) {
			return starlark.None, Emit(t, kw)
		})
	return names
}

// reason is why an evaluation failed, in the words of both engines.
func reason(err error) string {
	if err == nil {
		return ""
	}
	for _, part := range []string{"64 bits", "shift", "division by zero", "not in", "4096", "out of range"} {
		if strings.Contains(err.Error(), part) {
			return part
		}
	}
	if strings.Contains(err.Error(), "modulo by zero") || strings.Contains(err.Error(), "by zero") {
		return "division by zero"
	}
	return err.Error()
}

// seed is fixed, unless PPSCRIPT_SEED asks for other programs.
func seed(t *testing.T) uint64 {
	text := os.Getenv("PPSCRIPT_SEED")
	if text == "" {
		return 12
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestRandomFunctions(t *testing.T) {
	functions, events := 2400, 40
	if testing.Short() {
		functions = 200
	}
	s := named()
	sc := &expr.Scope{Schema: s}
	r := rand.New(rand.NewPCG(11, seed(t)))
	// Where both sides of a comparison fail, the native engine may name the
	// other failure: it turns x > y into y < x.
	cases, failures, others, lowered := 0, 0, 0, 0
	why := map[string]int{}
	for range functions {
		g := &gen{r: r, vars: map[string]string{}}
		kind := g.pick(kinds...)
		src := randomPrelude + "def f(e):\n" + g.block(0, "    ", kind) + "    return " + g.expr(kind) + "\n"
		f := loadRandom(t, src)
		sameDirectly(t, r, s, src)
		n, err := f.Lower(sc, expr.Any)
		if err != nil {
			why[err.(*notLowered).Reason]++
			continue
		}
		lowered++
		p := expr.Build(n)
		var fr expr.Frame
		for range events {
			e := randomSample(r, s)
			want, werr := f.Call(e)
			fr.Reset(e)
			got := p.Value(&fr)
			if (werr == nil) != (fr.Err == nil) || werr == nil && got.Compare(want) != 0 ||
				werr == nil && got.Kind != want.Kind && got.Kind != event.UintValue {
				t.Fatalf("%s\nnative %v %v (%v), interpreted %v %v (%v)", src, got.Kind, got, fr.Err,
					want.Kind, want, werr)
			}
			cases++
			if werr != nil {
				failures++
			}
			if reason(werr) != reason(fr.Err) {
				others++
			}
		}
	}
	t.Logf("%d of %d functions lowered, %d cases, %d of them errors", lowered, functions, cases, failures)
	if others*50 > failures {
		t.Errorf("%d of %d failures are for other reasons", others, failures)
	}
	if lowered < functions*8/10 {
		t.Log(why)
		t.Errorf("only %d of %d functions were lowered", lowered, functions)
	}
}

func loadRandom(t *testing.T, src string) *Func {
	t.Helper()
	h := script.NewHost(script.HostOptions{Predeclared: randomNames()})
	m, err := h.LoadSource("f.star", src)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	f, err := NewFunc(h, m.Globals["f"].(starlark.Callable))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestRandomFolds runs random step functions in both engines on the same events
// and compares the state and what is emitted after each.
func TestRandomFolds(t *testing.T) {
	functions, events := 700, 60
	if testing.Short() {
		functions = 70
	}
	s := named()
	sc := &expr.Scope{Schema: s}
	r := rand.New(rand.NewPCG(21, seed(t)))
	cases, lowered, emitted := 0, 0, 0
	why := map[string]int{}
	for range functions {
		g := &gen{r: r, vars: map[string]string{}, state: map[string]string{
			"n": "int", "m": "int", "since": "time", "took": "dur", "on": "bool", "name": "text"}}
		src := randomPrelude +
			"def step(s, e):\n    if s.n == 78: s.d[0] = e.wait\n    s.since = e.time if s.n == 77 else s.since\n" +
			"    if s.n == 123456: emit(i = 1, d = 1 * us, t = \"\", b = True)\n" + g.block(0, "    ", "")
		m := randomMachine(t, src, sc)
		stepsDirectly(t, r, s, src, m, randomMachine(t, src, sc))
		n, err := m.LowerStep(sc)
		if err != nil {
			why[err.(*notLowered).Reason]++
			continue
		}
		lowered++
		native := newRunner(m, expr.Build(n).Run)
		interpreted := newRunner(m, m.Run)
		for range events {
			e := randomSample(r, s)
			a, b := native.run(e), interpreted.run(e)
			if a != b {
				t.Fatalf("%s\nnative      %s\ninterpreted %s", src, a, b)
			}
			cases++
		}
		emitted += native.emitted
	}
	t.Logf("%d of %d step functions lowered, %d cases, %d events emitted", lowered, functions, cases, emitted)
	if lowered < functions*7/10 || emitted == 0 {
		t.Log(why)
		t.Errorf("only %d of %d step functions were lowered, %d events emitted", lowered, functions, emitted)
	}
}

func randomMachine(t *testing.T, src string, sc *expr.Scope) *Machine {
	t.Helper()
	h := script.NewHost(script.HostOptions{Predeclared: randomNames()})
	mod, err := h.LoadSource("f.star", src)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	zeros := starlark.NewList(make([]starlark.Value, 0, 4))
	for range 4 {
		if err := zeros.Append(starlark.MakeInt(0)); err != nil {
			t.Fatal(err)
		}
	}
	d := starlark.NewDict(9)
	for _, kv := range []struct {
		name string
		init starlark.Value
	}{{"n", starlark.MakeInt(0)}, {"m", starlark.MakeInt(5)}, {"since", starlark.MakeInt(0)},
		{"took", value.Duration(0)},
		{"c", zeros}, {"d", zeros}, {"k", starlark.NewList([]starlark.Value{starlark.MakeInt(1),
			starlark.MakeInt(2), starlark.MakeInt(3), starlark.MakeInt(-4)})},
		{"on", starlark.False}, {"name", starlark.String("first")}} {
		if err := d.SetKey(starlark.String(kv.name), kv.init); err != nil {
			t.Fatal(err)
		}
	}
	m, err := NewMachine(h, d, mod.Globals["step"].(starlark.Callable), nil)
	if err == nil {
		err = m.Bind([]*expr.Scope{sc}, nil)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	return m
}

// A runner runs a step function on one state.
type runner struct {
	frame   expr.Frame
	step    func(*expr.Frame)
	text    strings.Builder
	emitted int
}

func newRunner(m *Machine, step func(*expr.Frame)) *runner {
	r := &runner{step: step}
	numbers, texts := m.Initial()
	r.frame.State = numbers
	for _, s := range texts {
		r.frame.Texts = append(r.frame.Texts, []byte(s))
	}
	r.frame.Emit = func(_ *expr.Frame, _ int, args []expr.Arg) {
		r.emitted++
		for _, a := range args {
			fmt.Fprintf(&r.text, " %d:%s", a.I, a.S)
		}
	}
	return r
}

// run describes what a step did: the state, what was emitted, the error.
func (r *runner) run(e *event.Event) string {
	r.text.Reset()
	r.frame.Reset(e)
	r.step(&r.frame)
	fmt.Fprintf(&r.text, " state %d %q error %v", r.frame.State, r.frame.Texts, r.frame.Err != nil)
	return r.text.String()
}
