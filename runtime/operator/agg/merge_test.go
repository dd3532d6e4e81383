package agg

import (
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/flow"
)

func TestMergeOfPartsEqualsTheWhole(t *testing.T) {
	evs := batch(5000)
	for name, spec := range map[string]Spec{
		"count": {Keys: []*flow.Fn{fn(t, "id")}, Args: []Arg{{}}, Aggs: []Agg{{Op: Count}}},
		"texts": {
			Keys: []*flow.Fn{fn(t, "name"), fn(t, "id")},
			Args: []Arg{{Fn: fn(t, "val")}},
			Aggs: []Agg{{Op: Sum}, {Op: Min}, {Op: Max}, {Op: Avg}},
		},
		"all": {Args: []Arg{{Fn: fn(t, "val")}, {Fn: fn(t, "id")}},
			Aggs: []Agg{{Op: Quantile, Q: 0.9}, {Op: Distinct, Arg: 1}, {Op: Count}}},
	} {
		whole, sum, part := New(spec), New(spec), New(spec)
		whole.Events(append([]*event.Event(nil), evs...))
		// Two rounds of two readers.
		for i := 0; i < len(evs); i += 1250 {
			to := sum
			if i/1250%2 == 1 {
				to = part
			}
			to.Events(append([]*event.Event(nil), evs[i:i+1250]...))
			if to == part {
				sum.Merge(part)
				part.Reset()
			}
		}
		if got, want := show(sum.Rows()), show(whole.Rows()); got != want {
			t.Errorf("%s: got %.200s, want %.200s", name, got, want)
		}
		if sum.events != whole.events {
			t.Errorf("%s: got %d events, want %d", name, sum.events, whole.events)
		}
	}
}

func TestMergeHistograms(t *testing.T) {
	spec := Spec{Args: []Arg{{Fn: fn(t, "val")}}, Aggs: []Agg{{Op: Hist}}}
	a, b := New(spec), New(spec)
	a.Events([]*event.Event{ev(stream, 1, 0, 5, "")})
	b.Events([]*event.Event{ev(stream, 1, 0, 5, ""), ev(stream, 1, 0, 1, "")})
	a.Merge(b)
	if got := a.Histograms(0)[0].Total(); got != 3 {
		t.Errorf("got %d values, want 3", got)
	}
}

func TestOrderForbidsMerging(t *testing.T) {
	for op, want := range map[*Op]bool{
		Count:    true,
		Quantile: true,
		Distinct: true,
		Last:     false,
		First:    false,
		List:     false,
	} {
		s := Spec{Aggs: []Agg{{Op: op}}}
		if got := s.Mergeable(); got != want {
			t.Errorf("%s: got %v, want %v", op.Name, got, want)
		}
	}
}
