package moment

import (
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// All step functions of a fold together settle which slots are times: each
// function is for one event, and reads values that others store.
func TestTimesOfFolds(t *testing.T) {
	now := expr.NewField(&event.Field{
		Name: "time", Type: "u64", Place: event.InMember, Member: event.MemberTime, Size: 8,
	}, expr.Self)
	load := func(slot int) expr.Node { return must(expr.NewLoadState(slot, expr.TInt)) }
	store := func(slot int, x expr.Node) expr.Node { return must(expr.NewStoreState(slot, x)) }
	emit := func(x expr.Node) expr.Node { return must(expr.NewEmit(0, []string{"x"}, x)) }
	sub := func(x, y expr.Node) expr.Node { return must(expr.NewBinary(expr.OpSub, x, y)) }
	f := func(refused bool, steps ...expr.Node) {
		t.Helper()
		if err := Check(steps); (err != nil) != refused {
			t.Errorf("%v: got error %v, want one: %v", steps, err, refused)
		}
	}
	since := store(0, now)
	f(false, since, emit(sub(now, load(0))))
	f(false, emit(sub(now, load(0))), since)
	f(true, since, emit(load(0)))
	f(true, emit(load(0)), since)
	// A kept difference is a number, in any order.
	took := store(1, sub(now, load(0)))
	f(false, took, emit(load(1)), since)
	f(false, since, took, emit(load(1)))
	f(true, store(1, load(0)), emit(load(1)), since)
	// An element of a list may be any of them.
	at := expr.NewField(&event.Field{Name: "x", Kind: event.Int, Signed: true, Size: 8}, expr.Self)
	elem := must(expr.NewLoadElem(4, 2, expr.TInt, at))
	begun := must(expr.NewStoreElem(4, 2, at, now))
	f(false, begun, emit(sub(now, elem)))
	f(false, begun, emit(sub(now, load(5))))
	f(true, begun, emit(elem))
	f(true, emit(elem), store(4, now))
	f(true, begun, must(expr.NewStoreElem(0, 2, elem, expr.NewInt(1))))
	f(true, since, emit(must(expr.NewLoadElem(4, 2, expr.TInt, load(0)))))
	// A time less a number is a time still.
	f(true, took, emit(load(1)))
	f(true, emit(load(2)), store(2, load(1)), store(1, sub(now, load(3))))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
