package expr_test

import (
	"errors"
	"testing"

	"ppscript/runtime/event"
	. "ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
)

// slotSchema has computed values, as let, join and fold make them.
func slotSchema() *event.Schema {
	return &event.Schema{Name: "joint", Fields: []event.Field{
		{Name: "delay", Place: event.InSlot, Offset: 0, Size: 8, Signed: true, Unit: event.Nanos},
		{Name: "share", Kind: event.Float, Place: event.InSlot, Offset: 1},
		{Name: "who", Kind: event.Str, Place: event.InSlot, Offset: 2},
		{Name: "gone", Place: event.InSlot, Offset: 9, Size: 8},
		{Name: "when", Type: "u64", Place: event.InMember, Member: event.MemberTime, Unit: event.Moment, Size: 8, Signed: true},
	}}
}

func TestSlots(t *testing.T) {
	s := slotSchema()
	e := &event.Event{
		Time: 5,
		Derived: &event.Derived{Slots: []event.Value{
			event.DurationOf(1500), event.FloatOf(0.25), event.StrOf("bash"),
		}},
	}
	var f Frame
	get := func(name string) *Program {
		fld, ok := s.Field(name)
		if !ok {
			t.Fatal(name)
		}
		f.Reset(e)
		return Build(NewField(fld, Self))
	}
	if p := get("delay"); p.Int(&f) != 1500 || p.Value(&f).Kind != event.DurationValue {
		t.Errorf("delay: got %d, kind %d", p.Int(&f), p.Value(&f).Kind)
	}
	if p := get("share"); p.Float(&f) != 0.25 || !p.Bool(&f) || p.Value(&f).Kind != event.FloatValue {
		t.Errorf("share: got %v", p.Float(&f))
	}
	if p := get("who"); string(p.Str(&f)) != "bash" || p.Value(&f).String() != "bash" {
		t.Errorf("who: got %q", p.Str(&f))
	}
	if p := get("when"); p.Value(&f).Kind != event.TimeValue || f.Err != nil {
		t.Errorf("when: got kind %d (%v)", p.Value(&f).Kind, f.Err)
	}
	if p := get("gone"); p.Int(&f) != 0 || !errors.Is(f.Err, ErrMissing) {
		t.Errorf("gone: got error %v, want %v", f.Err, ErrMissing)
	}
	p, err := cexpr.Compile("delay > 1000 && who == \"bash\" && share * 4 == 1", &Scope{Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	f.Reset(e)
	if !p.Bool(&f) || f.Err != nil {
		t.Errorf("got false (%v)", f.Err)
	}
}

func TestFloats(t *testing.T) {
	half, x := newFloat(0.5), NewLocal(0, "x", TFloat)
	i32 := fieldNode("i32") // -3
	f := func(n Node, want float64) {
		t.Helper()
		var fr Frame
		fr.Reset(testEvent())
		p := Build(n)
		if got := p.Float(&fr); got != want || fr.Err != nil {
			t.Errorf("%s: got %v (%v), want %v", n, got, fr.Err, want)
		}
		if got := p.Value(&fr).Float(); got != want {
			t.Errorf("%s: got value %v, want %v", n, got, want)
		}
		if got := p.Bool(&fr); got != (want != 0) {
			t.Errorf("%s: got truth %v", n, got)
		}
	}
	f(must(PyBinary("+", i32, half)), -2.5)
	f(must(PyUnary("-", must(PyBinary("*", i32, half)))), 1.5)
	f(must(NewCond(fieldNode("flag"), half, i32)), 0.5)
	f(must(NewCond(must(PyUnary("not", fieldNode("flag"))), half, i32)), -3)
	f(must(NewSeq(must(NewSet(0, "x", must(PyBinary("/", i32, NewInt(2))))),
		must(PyBinary("-", x, half)))), -2)
	f(
		must(NewFunc(NewBlock(must(NewIf(fieldNode("flag"), NewReturn(must(PyBinary("+", half, i32))), nil)),
			NewReturn(half)), TFloat)), -2.5)
	f(must(NewUnary(OpToFloat, fieldNode("n64"))), 18446744073709551612)
	var fr Frame
	fr.Reset(testEvent())
	if got := Build(must(NewUnary(OpTrunc, must(PyBinary("*", i32, half))))).Int(&fr); got != -1 {
		t.Errorf("trunc(-1.5): got %d, want -1", got)
	}
	big := must(NewUnary(OpTrunc,
		must(PyBinary("*", must(NewUnary(OpToFloat, fieldNode("n64"))), newFloat(2)))))
	if Build(big).Int(&fr); !errors.Is(fr.Err, ErrOverflow) {
		t.Errorf("trunc of 2^65: got %v, want %v", fr.Err, ErrOverflow)
	}
}

func TestUnify(t *testing.T) {
	// Signed and unsigned alternatives become signed, checked.
	n := must(NewCond(fieldNode("flag"), fieldNode("n64"), fieldNode("i32")))
	var f Frame
	e := testEvent()
	f.Reset(e)
	if Build(n).Int(&f); !errors.Is(f.Err, ErrOverflow) {
		t.Errorf("n64 as signed: got %v, want %v", f.Err, ErrOverflow)
	}
	setField(e, "n64", 12)
	f.Reset(e)
	if got := Build(n).Int(&f); got != 12 || f.Err != nil {
		t.Errorf("got %d (%v), want 12", got, f.Err)
	}
	if n := must(NewCond(fieldNode("flag"), fieldNode("n64"), NewInt(5))); !n.Type().Unsigned {
		t.Errorf("%s: got %s, want uint: 5 fits", n, n.Type())
	}
	if n := must(NewCond(fieldNode("flag"), NewBool(true), NewInt(5))); n.Type() != TInt {
		t.Errorf("%s: got %s, want int", n, n.Type())
	}
}

func TestConstructorErrors(t *testing.T) {
	void, text, tuple := NewBlock(), NewStr("a"), must(NewTuple(NewInt(1)))
	f := func(what string, _ Node, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	check := func(what string) func(Node, error) {
		return func(n Node, err error) { t.Helper(); f(what, n, err) }
	}
	check("binary of text")(NewBinary(OpAdd, text, NewInt(1)))
	check("unary op with two operands")(NewBinary(OpNeg, NewInt(1), NewInt(1)))
	check("binary op with one operand")(NewUnary(OpAdd, NewInt(1)))
	check("negation of text")(NewUnary(OpNeg, text))
	check("truth of statements")(NewUnary(OpTruth, void))
	check("truth of a tuple")(NewUnary(OpTruth, tuple))
	check("condition of statements")(NewCond(void, NewInt(1), NewInt(2)))
	check("alternatives that differ")(NewCond(NewInt(1), text, NewInt(2)))
	check("if of statements")(NewIf(void, void, nil))
	check("assignment of a tuple")(NewSet(0, "x", tuple))
	check("empty sequence")(NewSeq())
	check("ext of text")(NewExt(text, 8, false))
	check("ext to 7 bits")(NewExt(NewInt(1), 7, false))
	check("tuple state")(NewLoadState(0, TTuple))
	check("list of texts")(NewLoadElem(0, 2, TStr, NewInt(0)))
	check("list without elements")(NewLoadElem(0, 0, TInt, NewInt(0)))
	check("element of a bool index")(NewLoadElem(0, 2, TInt, NewBool(true)))
	check("store of a text in a list")(NewStoreElem(0, 2, NewInt(0), text))
	check("store at a text")(NewStoreElem(0, 2, text, NewInt(0)))
	check("store of a float")(NewStoreState(0, newFloat(1)))
	check("emit of statements")(NewEmit(0, nil, void))
	check("tuple of tuples")(NewTuple(tuple))
	check("slice of a number")(NewSlice(NewInt(1), 0, 1, false))
	check("index by text")(NewStrAt(text, text, false))
	check("memory at a text")(NewMem(text, 4, false))
	check("3 bytes of memory")(NewMem(NewInt(0), 3, false))
	check("text at a text")(NewCStr(text))
	check("bytes at a text")(NewMemBytes(text, NewInt(1)))
	check("function of a tuple")(NewFunc(NewBlock(), TTuple))
	check("native with statements")(
		NewNative(Native{
			Name: "f", T: TInt, Args: []Node{void}, HostOnly: "a test",
			Int: func(*Frame, []Arg) int64 { return 0 },
		}))
	fld, _ := testSchema().Field("_cpu")
	check("bytes of a fact")(NewFieldView(fld, Self, ViewBytes))
}

func TestFolding(t *testing.T) {
	i32 := fieldNode("i32")
	f := func(n Node, want string) {
		t.Helper()
		if got := n.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	f(must(NewBinary(OpMul, NewInt(6), NewInt(7))), "42")
	f(must(NewBinary(OpAndB, NewBool(true), must(Compare("==", i32, NewInt(1))))), "(i32 == 1)")
	f(must(NewBinary(OpAndB, NewBool(false), must(Compare("==", i32, NewInt(1))))), "false")
	f(must(NewBinary(OpOrB, NewBool(true), must(Compare("==", i32, NewInt(1))))), "true")
	f(must(NewCond(NewInt(0), NewInt(1), i32)), "i32")
	f(must(NewIf(NewInt(1), must(NewSet(0, "x", i32)), nil)), "($x = i32)")
	f(must(NewIf(NewInt(0), must(NewSet(0, "x", i32)), nil)), "{ }")
	f(must(NewSlice(NewStr("abcd"), 1, -1, false)), `"bc"`)
	f(must(NewStrAt(NewStr("abcd"), NewInt(1), true)), "98")
	f(must(NewBinary(OpStrEq, NewStr("a"), NewStr("a"))), "true")
	f(must(NewBinary(OpGlob, NewStr("bash"), NewStr("*sh"))), "true")
	f(must(NewBinary(OpDivS, NewInt(1), NewInt(0))), "(1 /s 0)") // fails where it is evaluated
	f(must(PyUnary("not", must(PyUnary("not", i32)))), "bool(i32)")
	f(must(NewSeq(i32, NewInt(3))), "3")
	f(must(NewFunc(NewBlock(NewReturn(i32)), TInt)), "i32")
	f(must(PyBinary("+", NewInt(1<<62), NewInt(1<<62))), "(4611686018427387904 +c 4611686018427387904)")
}
