package mergeable

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"ppscript/runtime/operator/agg"
	"ppscript/runtime/result"
)

// This file is about budgets: the cost of observing on several machines, and the uncertainty of
// numbers if events were left out to stay within a budget.

// Costs is the cost of observing on several machines in one window, as sums over the machines. Mean
// returns the cost of an average machine.
type Costs struct {
	Hosts    uint64 // machines that reported their cost
	Sampled  uint64 // of these, machines that left events out
	Measured uint64 // of these, machines that measured Traced
	Budget   float64
	// Own, Traced, Events and Time are sums of the members of result.Cost.
	Own, Traced, Events, Time float64
	ByKey                     bool
}

// costsOf returns the costs of one machine.
func costsOf(c *result.Cost) (all Costs) {
	if c == nil {
		return all
	}
	all = Costs{Hosts: 1, Budget: c.Budget, Own: c.Own, Events: c.Events, Time: c.Time, ByKey: c.ByKey}
	if c.Traced != result.NotMeasured {
		all.Measured, all.Traced = 1, c.Traced
	}
	if c.Sampled() {
		all.Sampled = 1
	}
	return all
}

// Add adds the costs of other machines.
func (c *Costs) Add(o *Costs) {
	c.Hosts, c.Sampled, c.Measured = c.Hosts+o.Hosts, c.Sampled+o.Sampled, c.Measured+o.Measured
	c.Budget = max(c.Budget, o.Budget)
	c.Own, c.Traced, c.Events, c.Time = c.Own+o.Own, c.Traced+o.Traced, c.Events+o.Events, c.Time+o.Time
	c.ByKey = c.ByKey || o.ByKey
}

// Mean returns the mean cost of a machine, with the largest budget; nil if no machine reported
// its cost.
func (c *Costs) Mean() *result.Cost {
	if c.Hosts == 0 {
		return nil
	}
	n := float64(c.Hosts)
	mean := &result.Cost{Budget: c.Budget, Own: c.Own / n, Traced: result.NotMeasured, Events: c.Events / n,
		Time: c.Time / n, ByKey: c.ByKey}
	if c.Measured > 0 {
		mean.Traced = c.Traced / float64(c.Measured)
	}
	return mean
}

func (e *encoder) costs(n protowire.Number, c *Costs) {
	if *c == (Costs{}) {
		return
	}
	e.message(n, func() {
		e.uint(1, c.Hosts)
		e.uint(2, c.Sampled)
		e.uint(3, c.Measured)
		e.float(4, c.Budget)
		e.float(5, c.Own)
		e.float(6, c.Traced)
		e.float(7, c.Events)
		e.float(8, c.Time)
		e.bool(9, c.ByKey)
	})
}

func (d *decoder) costs(b []byte) (c Costs) {
	d.members(b, func(m *member) {
		switch m.n {
		case 1:
			c.Hosts = m.num
		case 2:
			c.Sampled = m.num
		case 3:
			c.Measured = m.num
		case 4:
			c.Budget = d.share(m)
		case 5:
			c.Own = d.share(m)
		case 6:
			c.Traced = d.share(m)
		case 7:
			c.Events = d.share(m)
		case 8:
			c.Time = d.share(m)
		case 9:
			c.ByKey = m.num != 0
		}
	})
	return c
}

// share reads a share; negative and infinite numbers are errors.
func (d *decoder) share(m *member) float64 {
	x := m.float()
	if !(x >= 0) || math.IsInf(x, 0) {
		d.fail("got the share %v", x)
	}
	return x
}

// doubts appends the margins of a row's measures, as the bits of floats.
func (e *encoder) doubts(n protowire.Number, list []agg.Doubt) {
	bits := make([]uint64, 0, 4*len(list))
	for _, x := range list {
		for _, f := range []float64{x.N.Square, x.N.Bias, x.Sum.Square, x.Sum.Bias} {
			bits = append(bits, math.Float64bits(f))
		}
	}
	e.packed(n, bits)
}

func (d *decoder) doubts(b []byte) (list []agg.Doubt) {
	bits := d.packed(b)
	if len(bits)%4 != 0 {
		d.fail("a row has a part of a doubt")
		return nil
	}
	for ; len(bits) > 0; bits = bits[4:] {
		list = append(list, agg.Doubt{
			N:   agg.Far{Square: math.Float64frombits(bits[0]), Bias: math.Float64frombits(bits[1])},
			Sum: agg.Far{Square: math.Float64frombits(bits[2]), Bias: math.Float64frombits(bits[3])}})
	}
	return list
}
