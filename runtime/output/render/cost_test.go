package render

import (
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
