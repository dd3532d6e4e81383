package result

import "testing"

// The cost of a run is that of its intervals, each by its length.
func TestCosts(t *testing.T) {
	var c Costs
	if c.Add(nil, 1); c.Whole() != nil {
		t.Errorf("got %+v of an interval of which nothing is known", c.Whole())
	}
	c.Add(&Cost{Budget: 0.1, Own: 0.25, Traced: 0.5, Events: 1, Time: 1}, 1)
	if got := c.Whole(); got.Sampled() {
		t.Errorf("got %+v, want all events", got)
	}
	c.Add(&Cost{Budget: 0.1, Own: 0.125, Traced: 0, Events: 0.5, Time: 0.25, ByKey: true}, 3)
	got := c.Whole()
	want := Cost{Budget: 0.1, Own: 0.15625, Traced: 0.125, Events: 0.625, Time: 0.4375, ByKey: true}
	if !got.Sampled() || *got != want {
		t.Errorf("got %+v, want %+v", *got, want)
	}
	c.Add(&Cost{Own: 0.1, Traced: NotMeasured, Events: 1, Time: 1}, 1)
	if got := c.Whole().Traced; got != NotMeasured {
		t.Errorf("got %v of a cost that was not measured in an interval", got)
	}
}
