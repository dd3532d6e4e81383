package bpf

import (
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/fold"
	"testing"
)

// This file makes random state machines for TestRandomPrograms.

// foldInts are the numbers of a state, beside one text.
const foldInts = 3

// emittedStream is the stream of random folds: two numbers and a text.
var emittedStream = &event.Stream{Index: 1,
	Schema: &event.Schema{System: "fold", Name: "test", Fields: []event.Field{
		{Name: "a", Type: "s64", Place: event.InSlot, Offset: 0, Size: 8, Signed: true},
		{Name: "b", Type: "s64", Place: event.InSlot, Offset: 1, Size: 8, Signed: true},
		{Name: "t", Type: "char[]", Kind: event.Str, Place: event.InSlot, Offset: 2},
	}}}

// emittedAgain is the stream of folds that work on emittedStream.
var emittedAgain = &event.Stream{Index: 3, Schema: emittedStream.Schema}

func must(n expr.Node, err error) expr.Node {
	if err != nil {
		panic(err)
	}
	return n
}

// words is a text that a step function may keep or emit.
func (r *random) words() expr.Node {
	switch r.Intn(4) {
	case 0:
		return expr.NewStr(words3[r.Intn(len(words3))])
	case 1:
		return must(expr.NewLoadState(0, expr.TStr))
	}
	return r.field(expr.Str)
}

// signed cuts a number to the type of a state's slot, as scripts do.
func (r *random) signed() expr.Node {
	n, err := expr.NewUnary(expr.OpSigned, r.num(2))
	if err != nil {
		return r.field(expr.Int)
	}
	return n
}

// index is one of the list that all numbers of a state are, or now and then not.
func (r *random) index() expr.Node {
	switch r.Intn(4) {
	case 0:
		return expr.NewInt(int64(r.Intn(2*foldInts+2) - foldInts - 1))
	case 1:
		return r.field(expr.Int)
	}
	n := must(expr.NewBinary(expr.OpAnd, r.field(expr.Int), expr.NewInt(3)))
	return must(expr.NewBinary(expr.OpSub, n, expr.NewInt(int64(r.Intn(4)))))
}

func (r *random) emit() expr.Node {
	return must(expr.NewEmit(0, []string{"a", "b", "t"}, r.signed(), r.signed(), r.words()))
}

// stmt is a statement of a step function.
func (r *random) stmt(depth int) expr.Node {
	if depth > 0 {
		switch r.Intn(3) {
		case 0:
			other := r.stmt(depth - 1)
			if r.Intn(2) == 0 {
				other = nil
			}
			if n := must(expr.NewIf(r.bool(1), r.stmt(depth-1), other)); n != nil {
				return n
			}
		case 1:
			return expr.NewBlock(r.stmt(depth-1), r.stmt(depth-1))
		}
	}
	switch r.Intn(8) {
	case 0, 1:
		return r.emit()
	case 2:
		return must(expr.NewStoreState(0, r.words()))
	case 3:
		return expr.NewReturn(nil)
	}
	if r.Intn(2) == 0 {
		return must(expr.NewStoreElem(0, foldInts, r.index(), r.signed()))
	}
	return must(expr.NewStoreState(r.Intn(foldInts), r.signed()))
}

// foldTrial is a fold whose results are counted.
func (r *random) foldTrial() *trial {
	twice := r.Intn(3) == 0
	last := emittedStream
	if twice {
		last = emittedAgain
	}
	fnOn := func(st *event.Stream, n expr.Node) *flow.Fn {
		each := make([]*expr.Program, st.Index+1)
		each[st.Index] = expr.Build(n)
		return flow.NewFn(each, st.Index)
	}
	out := func(n expr.Node) *flow.Fn { return fnOn(last, n) }
	fields := emittedStream.Schema.Fields
	slot := func(i int) expr.Node { return expr.NewField(&fields[i], expr.Self) }
	group := &agg.Spec{Limit: 256, Args: []agg.Arg{{}, {Fn: out(slot(1))}},
		Aggs: []agg.Agg{{Op: agg.Count}, {Op: agg.Sum, Arg: 1}, {Op: agg.Min, Arg: 1}, {Op: agg.Max, Arg: 1}}}
	t := &trial{spec: group}
	if r.Intn(2) == 0 {
		group.Keys = append(group.Keys, out(slot(2)))
	}
	if r.Intn(2) == 0 {
		group.Keys = append(group.Keys, out(must(expr.NewBinary(expr.OpAnd, slot(0), expr.NewInt(3)))))
	}

	key := must(expr.NewBinary(expr.OpAnd, r.field(expr.Int), expr.NewInt(3)))
	switch r.Intn(4) {
	case 0:
		key = r.field(expr.Str)
	case 1:
		key = must(expr.NewTuple(key, r.field(expr.Str)))
	}
	init, texts := []int64{0, r.number(), -1}, []string{words3[r.Intn(len(words3))]}
	r.state = true
	step := must(expr.NewFunc(expr.NewBlock(r.stmt(3), r.stmt(2), r.emit()), expr.TVoid))
	r.state = false

	f := &fold.Spec{
		Key: fnOf(key), Step: fnOf(step), Init: init, Texts: texts, Bounds: fold.Bounds{Limit: 1 << 12},
		Out: emittedStream,
	}
	t.text = "key " + key.String() + "\nstep " + step.String()
	if !twice && r.Intn(2) == 0 {
		flush := r.flushFunc(key)
		f.Flush, f.FlushStream = expr.Build(flush), flushStream
		t.text += "\nflush " + flush.String()
	}
	t.emitted = f
	edges := []*Edge{{To: foldNode(f)}, {Stream: last.Index, Group: group}}
	t.group = agg.New(*group)
	t.fold = fold.New(*f, t.group)
	if twice {
		r.emitted, r.state = true, false
		key := must(expr.NewBinary(expr.OpAnd, r.field(expr.Int), expr.NewInt(3)))
		r.state = true
		step := must(expr.NewFunc(expr.NewBlock(r.stmt(1), r.emit()), expr.TVoid))
		r.emitted, r.state = false, false
		g := &fold.Spec{Key: fnOn(emittedStream, key), Step: fnOn(emittedStream, step), Init: init,
			Texts: texts, Bounds: fold.Bounds{Limit: 1 << 12}, Out: last}
		edges = []*Edge{{To: foldNode(f)}, {Stream: 1, To: foldNode(g)}, edges[1]}
		t.behind = fold.New(*g, t.group)
		t.fold = fold.New(*f, t.behind)
		t.text += "\nthen key " + key.String() + "\nstep " + step.String()
	}
	t.part = partOf([]*Event{{Schema: recordSchema, Label: "record"}}, edges...)
	t.stage = t.fold
	return t
}

// flushStream is the stream of the events of flush functions; its key is a number or a
// text, as the fold's.
var flushStream = &event.Stream{Index: 2, Schema: &event.Schema{System: "fold", Name: "flush",
	Fields: []event.Field{{Name: "key", Type: "s64", Place: event.InSlot, Size: 8, Signed: true}}}}

// flushFunc is a random flush function of a fold with a key.
func (r *random) flushFunc(key expr.Node) expr.Node {
	r.flush, r.state, r.key = true, true, nil
	if key.Type().Kind == expr.Int {
		r.key = expr.NewField(&flushStream.Schema.Fields[0], expr.Self)
	}
	n := must(expr.NewFunc(expr.NewBlock(r.emit(), r.stmt(2), r.stmt(2)), expr.TVoid))
	r.flush, r.state = false, false
	return n
}

// readable is an input that a flush function can read: the state, and the key.
func (r *random) readable(kind expr.Kind) expr.Node {
	switch {
	case kind == expr.Str:
		return must(expr.NewLoadState(0, expr.TStr))
	case r.key != nil && r.Intn(3) == 0:
		return r.key
	}
	return must(expr.NewLoadState(r.Intn(foldInts), expr.TInt))
}

// flusher flushes the states of a trial's fold in both engines; those of the kernel to a
// group. Both are in the order in which the keys came.
func (t *trial) flusher(run *load.Run, to *agg.Group) func(tb testing.TB) {
	if t.fold == nil || t.emitted.Flush == nil {
		return func(testing.TB) {}
	}
	f := fold.NewFlusher(*t.emitted, to)
	return func(tb testing.TB) {
		tb.Helper()
		t.fold.Flush(0)
		if err := load.StatesOf(run).Flush(func(_ *fold.Spec, s *fold.State) { f.Flush(s) }); err != nil {
			tb.Fatal(err)
		}
		f.End()
		t.flushErrors = f.Errors().N
	}
}
