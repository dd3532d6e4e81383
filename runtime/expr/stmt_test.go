package expr_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ppscript/runtime/event"
	. "ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
)

// must unwraps a constructor's result in tests that build IR by hand.
func must(n Node, err error) Node {
	if err != nil {
		panic(err)
	}
	return n
}

func fieldNode(name string) Node {
	f, ok := testSchema().Field(name)
	if !ok {
		panic("no field " + name)
	}
	return NewField(f, Self)
}

// classify is: if i32 < 0: return -1 elif i32 == 0: return 0; x = i32 * 2;
// if x > 100: x = 100; return x
func classify() Node {
	i32 := fieldNode("i32")
	x := NewLocal(0, "x", TInt)
	body := NewBlock(
		must(NewIf(must(Compare("<", i32, NewInt(0))), NewReturn(NewInt(-1)),
			must(NewIf(must(Compare("==", i32, NewInt(0))), NewReturn(NewInt(0)), nil)))),
		must(NewSet(0, "x", must(PyBinary("*", i32, NewInt(2))))),
		must(NewIf(must(Compare(">", x, NewInt(100))), must(NewSet(0, "x", NewInt(100))), nil)),
		NewReturn(x))
	return must(NewFunc(body, TInt))
}

func TestStatements(t *testing.T) {
	n := classify()
	want := "func int { if (i32 <s 0) return -1 else if (i32 == 0) return 0; ($x = (i32 *c 2)); " +
		"if (100 <s $x) ($x = 100); return $x; }"
	if got := n.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	p := Build(n)
	for in, want := range map[int64]int64{-5: -1, 0: 0, 3: 6, 50: 100, 51: 100} {
		e := testEvent()
		setField(e, "i32", in)
		var f Frame
		f.Reset(e)
		if got := p.Int(&f); got != want || f.Err != nil {
			t.Errorf("i32 = %d: got %d (%v), want %d", in, got, f.Err, want)
		}
	}
	// A function inside an expression: its return ends only itself.
	sum := Build(must(PyBinary("+", n, NewInt(1000))))
	e := testEvent()
	setField(e, "i32", 7)
	var f Frame
	f.Reset(e)
	if got := sum.Int(&f); got != 1014 {
		t.Errorf("got %d, want 1014", got)
	}
}

func TestFuncTypes(t *testing.T) {
	if _, err := NewFunc(NewBlock(NewReturn(NewStr("a")), NewReturn(NewInt(1))), TInt); err == nil {
		t.Error("text and number: no error")
	}
	n := must(NewFunc(NewBlock(must(NewIf(fieldNode("flag"), NewReturn(NewStr("yes")), nil)),
		NewReturn(NewStr("no"))), TStr))
	var f Frame
	f.Reset(testEvent())
	if got := string(Build(n).Str(&f)); got != "yes" {
		t.Errorf("got %q, want yes", got)
	}
	// Falling off the end gives the zero value.
	n = must(NewFunc(NewBlock(must(NewIf(NewLocal(0, "x", TInt), NewReturn(NewStr("yes")), nil))), TStr))
	if got := Build(n).Str(&f); len(got) != 0 {
		t.Errorf("got %q, want nothing", got)
	}
}

// TestFold runs a two-state machine: emit the time between switches of flag.
func TestFold(t *testing.T) {
	now := fieldNode("time")
	since := must(NewLoadState(0, TInt))
	on := must(NewLoadState(1, TBool))
	step := NewBlock(
		must(NewIf(must(PyUnary("not", fieldNode("flag"))), NewBlock(
			must(
				NewIf(on,
					must(NewEmit(7, []string{"took", "comm"}, must(PyBinary("-", now, since)),
						fieldNode("comm"))), nil)), must(NewStoreState(1, NewBool(false)))),
			NewBlock(must(NewStoreState(0, now)), must(NewStoreState(1, NewBool(true)))))))
	p := Build(step)
	var got []string
	f := Frame{State: make([]int64, 2), Emit: func(_ *Frame, id int, args []Arg) {
		got = append(got, fmt.Sprintf("%d %d %s", id, args[0].I, args[1].S))
	}}
	for i, flag := range []int64{0, 1, 0, 0, 1, 1, 0} {
		e := testEvent()
		e.Time = event.Time(i * i)
		setField(e, "flag", flag)
		f.Reset(e)
		p.Run(&f)
		if f.Err != nil {
			t.Fatal(f.Err)
		}
	}
	if s := strings.Join(got, ";"); s != "7 3 bash;7 11 bash" {
		t.Errorf("got %q", s)
	}
	// Without state there is an error, no panic.
	f = Frame{}
	f.Reset(testEvent())
	if p.Run(&f); !errors.Is(f.Err, ErrMissing) {
		t.Errorf("got %v, want %v", f.Err, ErrMissing)
	}
}

func TestSlices(t *testing.T) {
	f := func(lo, hi int, noHi bool, want string) {
		t.Helper()
		n := must(NewSlice(fieldNode("comm"), lo, hi, noHi))
		var fr Frame
		fr.Reset(testEvent())
		if got := string(Build(n).Str(&fr)); got != want || fr.Err != nil {
			t.Errorf("%s: got %q (%v), want %q", n, got, fr.Err, want)
		}
	}
	f(0, 2, false, "ba")
	f(1, 0, true, "ash")
	f(-2, 0, true, "sh")
	f(0, -1, false, "bas")
	f(3, 1, false, "")
	f(-100, 100, false, "bash")
}

func TestParts(t *testing.T) {
	s := testSchema()
	start, end := testEvent(), testEvent()
	setField(start, "i32", 10)
	setField(end, "i32", 30)
	copy(end.Raw[40:], "zsh\x00")
	pair := &event.Event{Derived: &event.Derived{Start: start, End: end}}
	sc := &Scope{Parts: map[string]*event.Schema{"start": s, "end": s}}
	f := func(src, want string) {
		t.Helper()
		p, err := cexpr.Compile(src, sc)
		if err != nil {
			t.Error(err)
			return
		}
		var fr Frame
		fr.Reset(pair)
		v := p.Value(&fr)
		if got := v.String(); got != want || fr.Err != nil {
			t.Errorf("%s: got %s (%v), want %s", src, got, fr.Err, want)
		}
		fr.Reset(&event.Event{})
		if p.Value(&fr); !errors.Is(fr.Err, ErrMissing) {
			t.Errorf("%s of no pair: got %v, want %v", src, fr.Err, ErrMissing)
		}
	}
	f("end.i32 - start.i32", "20")
	f("start->i32 == 10 && end->i32 > 20", "1")
	f("end.comm", "zsh")
	f("end.filename", "/etc/passwd")
	f("end.ints[1]", "20")
	f("*(int *)&end.i32", "30")
	if _, err := cexpr.Compile("end.i33", sc); err == nil || !strings.Contains(err.Error(), "did you mean") {
		t.Errorf("got %v, want a suggestion", err)
	}
}

// TestRebindSymbolic: the name of a part's field comes from the part.
func TestRebindSymbolic(t *testing.T) {
	s := testSchema()
	s.SymbolicOf = func(field string, e *event.Event) (string, bool) {
		f, _ := s.Field(field)
		v, ok := f.Int(e)
		return fmt.Sprintf("%s-%d", field, v), ok
	}
	n, err := cexpr.Lower("symbolic(i32)", &Scope{Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	start, end := testEvent(), testEvent()
	setField(start, "i32", 1)
	setField(end, "i32", 2)
	var f Frame
	f.Reset(&event.Event{Derived: &event.Derived{Start: start, End: end}})
	for part, want := range map[Part]string{Start: "i32-1", End: "i32-2"} {
		if got := string(Build(Rebind(n, Self, part)).Str(&f)); got != want || f.Err != nil {
			t.Errorf("part %d: got %q (%v), want %q", part, got, f.Err, want)
		}
	}
}

func TestTuple(t *testing.T) {
	tuple := Build(must(NewTuple(fieldNode("i32"), fieldNode("comm"), fieldNode("n64"), fieldNode("flag"))))
	var f Frame
	f.Reset(testEvent())
	if got := tuple.Value(&f).String(); got != "(-3, bash, 18446744073709551612, 1)" {
		t.Errorf("got %s", got)
	}
	if len(tuple.Elems) != 4 || tuple.Elems[0].Int(&f) != -3 || string(tuple.Elems[1].Str(&f)) != "bash" {
		t.Errorf("got members %v", tuple.Elems)
	}
}

func TestField(t *testing.T) {
	for src, want := range map[string]string{
		"i32": "i32", "(i32)": "i32", "REC->i32": "i32", "(int)i32": "i32", "i32+1": "", "comm": "comm",
	} {
		p, err := cexpr.Compile(src, testScope())
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if f, ok := p.Field(); ok {
			got = f.Name
		}
		if got != want {
			t.Errorf("%s: got field %q, want %q", src, got, want)
		}
	}
}

// TestNoAllocations: programs of every kind of load and operation.
func TestNoAllocations(t *testing.T) {
	e := testEvent()
	var out countingWriter
	for _, src := range []string{
		"i32 == 3 && n64 > 5 || i8", `comm == "bash" && filename ~ "*wd"`, "longs[1] + ints[0]",
		"(i32 << 3) / 7 % 5",
		"filename", "_comm", "({ int x = i32; x += 2; x++; x; })", "ntohl(n32)", "ksymbol(ptr)",
		"strncmp(comm, filename, 3)",
		`__print_flags(n16, "|", {1, "a"}, {2, "b"}, {0x100, "c"})`, `__print_symbolic(i32, {1, "a"})`,
		"__get_cpumask(mask)", "__print_hex(ints, 8)", "flag ? comm : full",
		`printf("%d %5s %#lx\n", i32, comm, ptr)`,
	} {
		p, err := cexpr.Compile(src, testScope())
		if err != nil {
			t.Error(err)
			continue
		}
		f := Frame{Out: &out}
		if n := testing.AllocsPerRun(100, func() {
			f.Reset(e)
			p.Run(&f)
			if p.Bool != nil {
				p.Bool(&f)
			}
		}); n != 0 || f.Err != nil {
			t.Errorf("%s: got %v allocations (%v), want 0", src, n, f.Err)
		}
	}
	p := Build(classify())
	var f Frame
	if n := testing.AllocsPerRun(100, func() { f.Reset(e); p.Int(&f) }); n != 0 {
		t.Errorf("statements: got %v allocations, want 0", n)
	}
	at := fieldNode("i8")
	element := must(NewLoadElem(0, 4, TInt, at))
	p = Build(must(NewStoreElem(0, 4, at, must(PyBinary("+", element, NewInt(1))))))
	f.State = make([]int64, 4)
	if n := testing.AllocsPerRun(100, func() { f.Reset(e); p.Run(&f) }); n != 0 {
		t.Errorf("elements: got %v allocations (%v), want 0", n, f.Err)
	}
}

type countingWriter int

func (w *countingWriter) Write(b []byte) (int, error) {
	*w += countingWriter(len(b))
	return len(b), nil
}

func TestNativeErrorsStopEffects(t *testing.T) {
	ran := 0
	n := must(NewNative(Native{Name: "effect", T: TInt, HostOnly: "a test",
		Args:   []Node{must(NewBinary(OpDivS, NewInt(1), fieldNode("i32")))},
		Effect: true, Int1: func(*Frame, int64) int64 { ran++; return 5 }}))
	p := Build(n)
	e := testEvent()
	var f Frame
	f.Reset(e)
	p.Int(&f)
	setField(e, "i32", 0)
	f.Reset(e)
	if p.Int(&f); ran != 1 || !errors.Is(f.Err, ErrDivide) {
		t.Errorf("ran %d times, error %v; want once, and %v", ran, f.Err, ErrDivide)
	}
}

func TestScratchSurvivesGrowth(t *testing.T) {
	src := `__print_flags(1, "|", {1, "` + strings.Repeat("a", 300) + `"})`
	var args []Node
	for i := 0; i < 20; i++ {
		number := fmt.Sprintf("(n8 / 255 + %d,", i*2)
		n, err := cexpr.Lower(strings.Replace(src, "(1,", number, 1), testScope())
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, n)
	}
	all := must(NewNative(Native{Name: "all", T: TStr, Args: args, HostOnly: "a test",
		Str: func(f *Frame, a []Arg) []byte {
			b := f.Scratch()
			for _, x := range a {
				b = append(append(b, x.S...), ' ')
			}
			return f.Keep(b)
		}}))
	var f Frame
	f.Reset(testEvent())
	got := strings.Fields(string(Build(all).Str(&f)))
	for i, w := range got {
		want := strings.Repeat("a", 300)
		if i > 0 {
			want += fmt.Sprintf("|%#x", i*2)
		}
		if w != want {
			t.Fatalf("word %d: got %s, want %s", i, w, want)
		}
	}
	if len(got) != 20 {
		t.Errorf("got %d words, want 20", len(got))
	}
}

// TestStateTexts checks that texts of the state are kept by copy, and bounded.
func TestStateTexts(t *testing.T) {
	old := must(NewLoadState(0, TStr))
	p := Build(NewBlock(
		must(NewStoreState(1, old)),
		must(NewStoreState(0, fieldNode("comm")))))
	f := Frame{Texts: make([][]byte, 2)}
	e := testEvent()
	f.Reset(e)
	p.Run(&f)
	copy(e.Raw, make([]byte, len(e.Raw))) // the event is gone
	f.Reset(testEvent())
	p.Run(&f)
	if got := string(f.Texts[1]); got != "bash" || f.Err != nil {
		t.Errorf("got %q (%v), want bash", got, f.Err)
	}
	if n := testing.AllocsPerRun(100, func() { p.Run(&f) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
	long := Build(must(NewStoreState(0, NewStr(strings.Repeat("x", MaxStateText+1)))))
	if long.Run(&f); !errors.Is(f.Err, ErrLong) {
		t.Errorf("got %v, want %v", f.Err, ErrLong)
	}
}
