package result

// Costs adds up the cost of observing over several intervals.
type Costs struct {
	last    Cost
	seconds float64
	// Sums over the intervals of each share times the interval's seconds.
	own, traced, events, time float64
	unknown                   bool // Traced was not measured in one of them
}

// Add adds the cost of an interval with its length; a nil cost is unknown, and
// ignored.
func (c *Costs) Add(cost *Cost, seconds float64) {
	if cost == nil {
		return
	}
	seconds = max(seconds, 1e-9)
	c.last.Budget, c.last.Visible = cost.Budget, cost.Visible
	c.last.ByKey = c.last.ByKey || cost.ByKey
	c.seconds += seconds
	c.own += cost.Own * seconds
	c.traced += cost.Traced * seconds
	c.events += cost.Events * seconds
	c.time += cost.Time * seconds
	c.unknown = c.unknown || cost.Traced == NotMeasured
}

// Whole returns the mean cost of all intervals; nil if no cost is known. If
// events were left out in one interval, they count as left out of the whole.
func (c *Costs) Whole() *Cost {
	if c.seconds == 0 {
		return nil
	}
	whole := c.last
	whole.Own, whole.Traced = c.own/c.seconds, c.traced/c.seconds
	whole.Events, whole.Time = c.events/c.seconds, c.time/c.seconds
	if c.unknown {
		whole.Traced = NotMeasured
	}
	return &whole
}
