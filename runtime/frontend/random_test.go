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
	"ppscript/runtime/value"

	"go.starlark.net/starlark"
)

// This file is the differential test of the two engines on random programs. A
// generator writes functions that Starlark accepts; values are often at the
// ends of their ranges, so that errors are frequent. Both engines must give the
// same value, or fail for the same reason.

// A gen writes one function.
type gen struct {
	r     *rand.Rand
	vars  map[string]string // kind of each variable
	state map[string]string // kind of each member, in a step function
	depth int
}

func (g *gen) pick(list ...string) string { return list[g.r.IntN(len(list))] }

// known lists the variables of a kind.
func (g *gen) known(kind string) (names []string) {
	for _, n := range []string{"a", "b", "c", "d"} {
		if g.vars[n] == kind {
			names = append(names, n)
		}
	}
	for _, n := range []string{"n", "m", "since", "took", "on", "name"} {
		if g.state[n] == kind {
			names = append(names, "s."+n)
		}
	}
	return names
}

// expr is an expression of a kind: int, dur, time, text or bool.
func (g *gen) expr(kind string) string {
	if g.depth++; g.depth > 4 {
		g.depth--
		return g.leaf(kind)
	}
	defer func() { g.depth-- }()
	if g.r.IntN(4) == 0 {
		return g.leaf(kind)
	}
	if g.r.IntN(8) == 0 {
		return "(" + g.expr(kind) + " if " + g.expr("bool") + " else " + g.expr(kind) + ")"
	}
	x := func(k string) string { return g.expr(k) }
	switch kind {
	case "int":
		switch g.r.IntN(13) {
		case 11:
			if g.state != nil {
				return "s.c[" + g.index() + "]"
			}
		case 12:
			if g.state != nil {
				return g.pick("sum", "min", "max", "len") + "(s.c)"
			}
		case 8:
			return "half(" + x("int") + ", " + x("int") + ")"
		case 9:
			return "level(e, " + x("bool") + ")"
		case 10:
			if g.state != nil {
				return "bump(s, " + x("int") + ")"
			}
		case 0:
			return "(log2(" + x("int") + ") + len(" + x("text") + "))"
		case 1:
			return "min(" + x("int") + ", " + x("int") + ")"
		case 2:
			return "(-" + g.leaf("int") + ")"
		case 3:
			return "(" + x("dur") + ").ns"
		case 5:
			return x("text") + g.pick(".find(", ".rfind(") + x("text") + ")"
		case 4:
			return "DICT.get(" + x("int") + ", " + fmt.Sprint(g.r.IntN(9)) + ")"
		}
		return "(" + x("int") + g.pick(" + ", " - ", " * ", " // ", " % ", " & ", " | ", " ^ ", " >> 3 + ") +
			x("int") + ")"
	case "dur":
		switch g.r.IntN(4) {
		case 0:
			return "(" + x("time") + " - " + x("time") + ")"
		case 1:
			return "(" + x("dur") + " * " + x("int") + ")"
		}
		return "(" + x("dur") + g.pick(" + ", " - ", " % ") + x("dur") + ")"
	case "time":
		return "(" + x("time") + g.pick(" + ", " - ") + x("dur") + ")"
	case "text":
		switch g.r.IntN(8) {
		case 2:
			return x("text") +
				g.pick(".lower()", ".upper()", ".strip()", ".rstrip('hx')", ".removeprefix('ba')")
		case 3:
			return x("text") + "[" + x("int") + ":" + x("int") + "]"
		case 4:
			return "(" + x("text") + " + e.comm)[" + x("int") + "]"
		case 5:
			return "(" + x("text") + " + e.comm).split(" + g.pick(`"a"`, `"12"`) + ")[" +
				g.pick("0", "1", "-1") + "]"
		case 6:
			return "(" + x("text") + g.pick(" or ", " and ") + x("text") + ")"
		case 7:
			return `("%d %s" % (` + x("int") + ", " + x("text") + "))"
		case 0:
			return "str(" + x("int") + ")"
		case 1:
			return x("text") + "[" + g.pick("1:", ":2", "-3:", "1:-1") + "]"
		}
		return "(" + x("text") + " + " + x("text") + ")"
	}
	switch g.r.IntN(6) {
	case 0:
		return "(" + x("bool") + g.pick(" and ", " or ") + x("bool") + ")"
	case 1:
		return "(not " + x("bool") + ")"
	case 2:
		return "(" + x("text") + g.pick(" == ", " != ", " < ", " in ") + x("text") + ")"
	case 3:
		return "(" + x("dur") + g.pick(" < ", " >= ", " == ") + x("dur") + ")"
	case 4:
		return "(" + x("int") + g.pick(" in ", " not in ") + "(1, 120, -5))"
	}
	return "(" + x("int") + g.pick(" < ", " <= ", " == ", " != ", " > ") + x("int") + ")"
}

func (g *gen) leaf(kind string) string {
	if known := g.known(kind); known != nil && g.r.IntN(2) == 0 {
		return g.pick(known...)
	}
	switch kind {
	case "int":
		return g.pick("e.pid", "e.prio", "e.flags", "e.cpu", "0", "1", "7", "120", "1000003", "LIMIT")
	case "dur":
		return g.pick("e.wait", "(5 * us)", "(2000 * ms)", "(0 * us)")
	case "time":
		return "e.time"
	case "text":
		return g.pick("e.comm", `"ba"`, `"x"`, `""`, "e.name")
	}
	return g.pick("e.pid > 0", "e.cpu == 1", "True", "e.comm == \"bash\"", "e.flags > 2")
}

var kinds = []string{"int", "dur", "time", "text", "bool"}

func (g *gen) block(depth int, indent string, returns string) string {
	var b strings.Builder
	for range 1 + g.r.IntN(3) {
		b.WriteString(g.stmt(depth, indent, returns))
	}
	return b.String()
}

func (g *gen) stmt(depth int, indent, returns string) string {
	k := g.pick(kinds...)
	switch n := g.r.IntN(10); {
	case n < 2 && depth < 3:
		cond := g.expr("bool")
		saved := g.copyVars()
		yes := g.block(depth+1, indent+"    ", returns)
		g.vars = saved
		if g.r.IntN(2) == 0 {
			return indent + "if " + cond + ":\n" + yes
		}
		saved = g.copyVars()
		no := g.block(depth+1, indent+"    ", returns)
		g.vars = saved
		return indent + "if " + cond + ":\n" + yes + indent + "else:\n" + no
	case n == 2 && depth < 2:
		saved := g.copyVars()
		body := g.block(depth+1, indent+"    ", returns)
		g.vars = saved
		return indent + "for i in range(3):\n" + indent + "    if " + g.expr("bool") + ":\n" + indent +
			"        " +
			g.pick("break", "continue") + "\n" + body
	case n == 3 && depth > 0:
		if returns == "" {
			return indent + "return\n"
		}
		return indent + "return " + g.expr(returns) + "\n"
	case n == 4 && g.known("int") != nil:
		return indent + g.pick(g.known("int")...) + g.pick(" += ", " -= ", " *= ") + g.expr("int") + "\n"
	case n >= 7 && g.state != nil:
		return g.stateStmt(indent)
	}
	v := g.pick("a", "b", "c", "d")
	// A variable has one kind, or Starlark itself would be surprised.
	if old, ok := g.vars[v]; ok {
		k = old
	}
	text := indent + v + " = " + g.expr(k) + "\n"
	g.vars[v] = k
	return text
}

func (g *gen) stateStmt(indent string) string {
	if g.r.IntN(3) == 0 {
		return indent + "emit(i = " + g.expr("int") + ", d = " + g.expr("dur") + ", t = " + g.expr("text") +
			", b = " +
			g.pick("e.pid > 0", "e.cpu == 1", "True") + ")\n"
	}
	m := g.pick("n", "m", "since", "took", "on", "name", "c", "c")
	if m == "c" {
		return g.listStmt(indent)
	}
	if m == "on" {
		return indent + "s.on = " + g.pick("True", "False", "e.pid > 3", "not s.on") + "\n"
	}
	if m == "since" && g.r.IntN(3) == 0 {
		return indent + "s.since = 0\n"
	}
	return indent + "s." + m + " = " + g.expr(g.state[m]) + "\n"
}

func (g *gen) copyVars() map[string]string {
	m := map[string]string{}
	for k, v := range g.vars {
		m[k] = v
	}
	return m
}

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

func (testLog2) Native() *Native {
	return &Native{Returns: IntKind, Compile: func(c *NativeCall) (NativeValue, bool) {
		if c.Len() != 1 || !c.Signed(0) {
			return NativeValue{}, false
		}
		return c.Make(expr.Native{Name: "log2", T: expr.TInt, Args: []expr.Node{c.Node(0)},
			Int1: func(_ *expr.Frame, x int64) int64 { return log2(x) }})
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
