package value

import (
	"testing"

	"ppscript/runtime/event"

	"go.starlark.net/starlark"
)

func TestConversionsRoundTrip(t *testing.T) {
	for _, v := range []event.Value{
		{}, event.IntOf(-5), event.IntOf(1 << 40), event.UintOf(1<<63 + 1), event.BoolOf(true), event.FloatOf(1.5),
		event.StrOf("x"), event.DurationOf(-7), event.TimeOf(1 << 50),
		event.ListOf(event.IntOf(1), event.StrOf("a"), event.ListOf(event.BoolOf(false))),
	} {
		got, err := FromStarlark(ToStarlark(v))
		if err != nil || got.Kind != v.Kind || got.Compare(v) != 0 {
			t.Errorf("%v %s: got %v %s, %v", v.Kind, v, got.Kind, got, err)
		}
	}
	deep := starlark.Value(starlark.Tuple{})
	for range maxNesting + 1 {
		deep = starlark.Tuple{deep}
	}
	for _, v := range []starlark.Value{
		deep, starlark.NewDict(0),
		starlark.MakeInt64(1).Mul(starlark.MakeUint64(1 << 63)).Mul(starlark.MakeInt(4)),
	} {
		if got, err := FromStarlark(v); err == nil {
			t.Errorf("got %v, want an error", got)
		}
	}
}
