package render

import (
	"errors"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// What files of other tools say of losses and of what a budget left out.
func TestRemarks(t *testing.T) {
	for _, x := range []struct {
		m    result.Meta
		want string
	}{
		{result.Meta{}, ""},
		{result.Meta{Cost: &result.Cost{Events: 1, Time: 1, Budget: 0.01}}, ""},
		{result.Meta{Loss: event.Loss{Lost: 3}}, "lost 3 events"},
		{result.Meta{Loss: event.Loss{Lost: 3},
			Cost: &result.Cost{Events: 0.25, Time: 1, Budget: 0.01, Own: 0.002, Traced: 0.003}},
			"lost 3 events; sampled: 25% of the events, for a budget of 1% of the CPUs (cost 0.5%): " +
				"numbers are estimates"},
		{result.Meta{Cost: &result.Cost{Events: 0.5, Time: 0.1, Budget: 0.01, Own: 0.01, ByKey: true}},
			"sampled: 50% of the keys, with all of their events, in 10% of the time, for a budget of 1% of " +
				"the CPUs (cost 1%): numbers are estimates"},
		{result.Meta{Cost: &result.Cost{Events: 1, Time: 0, Budget: 0.01, Own: 0.01}},
			"not observed: events were off, for a budget of 1% of the CPUs (cost 1%): how many there were " +
				"is not known"},
	} {
		if got := Remarks(&x.m); got != x.want {
			t.Errorf("got %q, want %q", got, x.want)
		}
	}
}

// Where a budget left events out, a result of each kind that has nothing says so, in each form for people.
func TestNothingOfSampledEvents(t *testing.T) {
	buckets := result.NewHistogram(result.Meta{}, nil, result.Column{Name: "size"}, nil)
	for _, c := range []struct {
		cost result.Cost
		want string
	}{
		{result.Cost{Events: 1, Time: 0.02, Budget: 0.01, Own: 0.01}, "sampled: in 2% of the time, for a " +
			"budget of 1% of the CPUs (cost 1%): nothing was counted; " +
			"the number of other events is not known"},
		{result.Cost{Events: 1, Time: 0, Budget: 0.01, Own: 0.01}, "not observed: events were off, for a budget of " +
			"1% of the CPUs (cost 1%): how many there were is not known"},
		{result.Cost{Events: 1, Time: 1, Budget: 0.01, Own: 0.01}, ""},
	} {
		m := result.Meta{Name: "x", Cost: &c.cost}
		for kind, one := range map[string]result.Result{
			"table":     &result.Table{Meta: m, Columns: []result.Column{{Name: "n"}}},
			"histogram": &result.Table{Meta: m, Columns: buckets.Columns},
			"stacks":    &result.Stacks{Meta: m},
			"why":       &result.Why{Meta: m},
		} {
			for _, format := range []string{"text", "markdown", "csv"} {
				var b, notes strings.Builder
				r, err := New(&b, Options{Format: format, Notes: &notes})
				if err == nil {
					err = errors.Join(r.Show(one), r.Flush())
				}
				if err != nil {
					t.Fatal(err)
				}
				got := strings.Join(strings.Fields(b.String()+notes.String()), " ")
				if c.want == "" && got != "" || !strings.Contains(got, c.want) {
					t.Errorf("%s as %s: got %q, want %q", kind, format, got, c.want)
				}
			}
		}
	}
}
