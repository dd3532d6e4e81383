package bpf

import (
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/fold"
	"ppscript/runtime/operator/join"
)

// everything is a part with each kind of operator, on two events.
func everything() *Part {
	const pairs, emitted = 2, 3
	at := func(stream int, n expr.Node) *flow.Fn {
		each := make([]*expr.Program, stream+1)
		each[stream] = expr.Build(n)
		return flow.NewFn(each, stream)
	}
	field := func(name string, part expr.Part) *expr.Field {
		f, _ := recordSchema.Field(name)
		return expr.NewField(f, part).(*expr.Field)
	}
	tid := expr.Build(tidNode)
	j := &join.Spec{
		In: []join.In{{Key: tid}, {Stage: 1, Key: tid}}, Pairs: [][]*event.Stream{{nil, {Index: pairs}}},
	}
	out := &event.Stream{Index: emitted, Schema: emittedStream.Schema}
	slot := expr.NewField(&emittedStream.Schema.Fields[0], expr.Self)
	step := must(expr.NewFunc(expr.NewBlock(must(expr.NewStoreState(0, field("x", expr.Self))),
		must(expr.NewEmit(0, []string{"a", "b", "t"}, field("s8", expr.Self), field("x", expr.Self),
			field("text", expr.Self)))), expr.TVoid))
	f := &fold.Spec{Key: at(0, field("text", expr.Self)), Step: at(0, step), Init: []int64{3}, Out: out}
	count := []agg.Agg{{Op: agg.Count}, {Op: agg.Quantile, Q: 0.5, Arg: 1}}
	byStart := &agg.Spec{Keys: []*flow.Fn{
		at(pairs, field("text", expr.Start)), at(pairs, delayOf(expr.Self)),
	}, Aggs: count,
		Args: []agg.Arg{{}, {Fn: at(pairs, field("s64", expr.Start))}}}
	bySlot := &agg.Spec{Keys: []*flow.Fn{at(emitted, slot)}, Aggs: count[:1], Args: []agg.Arg{{}}}
	chain := &event.Field{Name: "stack", Place: event.InMember, Member: event.MemberCallchain, Size: 8}
	byStack := &agg.Spec{Keys: []*flow.Fn{at(0, expr.NewField(chain, expr.Self))},
		Aggs: count[:1], Args: []agg.Arg{{}}}
	p := partOf([]*Event{
		{Schema: recordSchema, Label: "first", Filter: must(expr.Compare("<", field("u8", expr.Self), expr.NewInt(3))), Stack: &StackSpec{Kernel: true, Max: 20}},
		{Schema: recordSchema, Label: "second"},
	},
		&Edge{
			Stream: 0,
			To:     joinNode(j),
			Preds:  predsOf(must(expr.Compare("<", field("u16", expr.Self), expr.NewInt(3)))),
		},
		&Edge{Stream: 1, To: joinNode(j)}, &Edge{Stream: 0, To: foldNode(f)},
		&Edge{Stream: pairs, Group: byStart}, &Edge{Stream: emitted, Group: bySlot}, &Edge{
			Stream: 0, Group: byStack,
		},
		&Edge{
			Stream: 1,
			Send: &Record{Fields: []*expr.Field{
				field("x", expr.Self), field("u8", expr.Self), field("text", expr.Self),
			}},
		})
	p.Intervals = true
	return p
}

// TestGenerateChangesNothing checks that Generate changes nothing of what it is given: two images
// of one part, for different kernels, are equal to the images of two parts.
func TestGenerateChangesNothing(t *testing.T) {
	new := &Host{
		TaskStorage: true,
		Grows:       true,
		Atomics:     true,
		Guarded:     true,
		Offset:      func(string, string) (int, bool) { return 8, true },
	}
	old := &Host{Atomics: true}
	generated := func(p *Part, h *Host) string {
		t.Helper()
		target := &Target{PIDs: []int{7}}
		before := shape(p) + shape(target)
		im, err := Generate(p, h, target)
		if err != nil {
			t.Fatal(err)
		}
		if after := shape(p) + shape(target); after != before {
			t.Errorf("got another part\n%s\nthan the one that was given\n%s", after, before)
		}
		var b strings.Builder
		for _, prog := range im.Programs {
			fmt.Fprintf(&b, "%s %v\n", prog.Label, prog.Ins)
		}
		return b.String()
	}
	p := everything()
	f := func(h *Host) {
		t.Helper()
		if got, want := generated(p, h), generated(everything(), h); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	f(new)
	f(old)
	f(new)
}

// shape is all that can be reached from v, in text.
func shape(v any) string {
	var b strings.Builder
	seen := map[uintptr]bool{}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if v.IsNil() || seen[v.Pointer()] {
				fmt.Fprintf(&b, "%x ", v.Pointer())
				return
			}
			seen[v.Pointer()] = true
			walk(v.Elem())
		case reflect.Interface:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Struct:
			b.WriteString(v.Type().Name() + "{")
			for i := range v.NumField() {
				walk(v.Field(i))
			}
			b.WriteString("} ")
		case reflect.Slice, reflect.Array:
			fmt.Fprintf(&b, "%d[", v.Len())
			for i := range v.Len() {
				walk(v.Index(i))
			}
			b.WriteString("] ")
		case reflect.Func, reflect.Map, reflect.Chan, reflect.UnsafePointer:
			fmt.Fprintf(&b, "%x ", v.Pointer())
		default:
			fmt.Fprintf(&b, "%v ", v)
		}
	}
	walk(reflect.ValueOf(v))
	return b.String()
}

// TestCanIsGenerate checks that Can says of an expression what Generate says of a program that
// evaluates it, and gives the same reason.
func TestCanIsGenerate(t *testing.T) {
	r := &random{Rand: rand.New(rand.NewSource(11))}
	h := &Host{Atomics: true}
	refused, nodes := 0, 0
	reason := func(err error) string {
		var no *Refusal
		if errors.As(err, &no) {
			return no.Why
		}
		return fmt.Sprint(err)
	}
	for range 3000 {
		n := r.bool(5)
		if r.Intn(4) == 0 {
			// What there is no code for.
			n = must(expr.Compare("<",
				expr.NewField(&event.Field{Name: "odd", Offset: 8 + r.Intn(8), Size: 4}, expr.Self),
				r.num(2)))
		}
		e := &Event{Schema: recordSchema, Label: "record"}
		_, err := Generate(partOf([]*Event{e}, &Edge{Preds: predsOf(n), Group: counted()}), h, &Target{})
		nodes++
		if err != nil {
			refused++
		}
		if got, want := reason(Can(n, e, h)), reason(err); got != want &&
			!strings.Contains(want, "too long") {
			t.Fatalf("%s: got %s, want %s", n, got, want)
		}
	}
	if refused < nodes/50 {
		t.Errorf("got %d of %d refused, want some", refused, nodes)
	}
	t.Logf("%d of %d refused", refused, nodes)
}

// Part.Can says of a part what Generate says, and makes nothing.
func TestPartCan(t *testing.T) {
	h := &Host{Atomics: true}
	if err := everything().Can(h, &Target{}); err != nil {
		t.Errorf("got %v, want that it can", err)
	}
	p := everything()
	p.Edges[0].Preds = append(p.Edges[0].Preds, predsOf(
		must(expr.Compare("<", expr.NewField(&event.Field{Name: "odd", Offset: 13, Size: 4}, expr.Self),
			expr.NewInt(1))))...)
	var no *Refusal
	if err := p.Can(h, &Target{}); !errors.As(err, &no) || !strings.Contains(no.Why, "at 13 of the record") {
		t.Errorf("got %v, want why not", err)
	}
}
