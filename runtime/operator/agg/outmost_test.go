package agg

import (
	"testing"

	"ppscript/runtime/event"
)

// The value of the largest or smallest rank is kept, of equal ones the first: of single events, of parts, and
// of Groups that are put together.
func TestOutmostValues(t *testing.T) {
	f := func(op *Op, ranks []int64, want string) {
		t.Helper()
		fresh := func() *outmost { return op.New(nil, nil).(*outmost) }
		one, parts, merged := fresh(), fresh(), fresh()
		for i, r := range ranks {
			rank, v := event.IntNumber(r), event.StrOf(string(rune('a'+i)))
			one.AddRanked(rank, v)
			pick := []Pick{{Rank: rank, Value: v}}
			parts.AddPartial(&Partial{Greatest: pick, Least: pick}, 0)
			single := fresh()
			single.AddRanked(rank, v)
			merged.Merge(single)
			merged.Merge(fresh())
		}
		for _, o := range []*outmost{one, parts, merged} {
			if got := o.Cell().String(); got != want {
				t.Errorf("%s of %v: got %s, want %s", op.Name, ranks, got, want)
			}
			if o.Reset(); o.Cell().Kind != event.None {
				t.Errorf("%s: got %v after a reset", op.Name, o.Cell())
			}
			o.AddRanked(event.IntNumber(0), event.StrOf("z"))
			if got := o.Cell().String(); got != "z" {
				t.Errorf("%s: got %s after a reset, want z", op.Name, got)
			}
		}
	}
	f(AtMax, []int64{3, 7, -1, 7}, "b")
	f(AtMin, []int64{3, -7, -7, 9}, "b")
	f(AtMin, []int64{3}, "a")
}
