package session

import (
	"errors"
	"time"

	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/session/budget"
)

// A collector adds the rows that programs counted to the tables.
type collector struct {
	run *run
	// ours reports that a row is about ppscript itself. hidden is the number of events in such
	// rows, which are left out.
	ours   func(g *agg.Group, p *agg.Partial) bool
	hidden uint64
}

func (c *collector) sink() *budget.Sink {
	in := c.run.instance
	return &budget.Sink{Number: c.run.stacks.number, Add: c.add,
		EndSlot: func(seconds, gap float64) { in.Counted(func(g *agg.Group) { g.EndSlot(seconds, gap) }) },
		Unseen:  func(share float64) { in.Counted(func(g *agg.Group) { g.Unseen(share) }) },
		Weighed: func(f agg.Force) { in.Counted(func(g *agg.Group) { g.Weighed(f) }) }}
}

// add adds a row to its table.
func (c *collector) add(t *agg.Spec, p *agg.Partial) {
	in := c.run.instance
	if c.ours == nil {
		c.ours = func(*agg.Group, *agg.Partial) bool { return false }
		if !c.run.cfg.Options.Show.Self {
			c.ours = ownStacks(in)
		}
	}
	if c.ours(in.Group(t), p) {
		c.hidden += p.Hits
		return
	}
	if in.Partial(t, p) {
		in.Group(t).AddPartial(p)
	}
}

// collect adds the rows of the interval to the tables, and returns the losses.
func (k *kernelRun) collect(r *run) (event.Loss, error) {
	loss, err := k.rows.collect(k.run, k.govern)
	k.cost = k.govern.Cost()
	if k.hooks != nil {
		gaps := k.hooks.Gaps()
		loss.Lost += gaps - k.gaps
		k.gaps = gaps
	}
	return loss, err
}

// collect adds the rows that programs counted in the interval to the tables. It
// returns the losses.
func (c *collector) collect(programs *load.Run, g *budget.Governor) (lost event.Loss, err error) {
	if err = g.Rows(programs, c.sink()); err != nil {
		return event.Loss{}, err
	}
	r := c.run
	loss, err := programs.Loss()
	passed, passedErr := programs.Passed()
	err = errors.Join(err, passedErr)
	for t, l := range loss.Groups {
		r.instance.Group(t).AddLoss(l)
	}
	router := r.instance.Router
	router.Samples += passed
	router.Last = r.clock.Now()
	if router.First == 0 {
		router.First = router.Last - event.Time(time.Since(r.started))
	}
	return loss.Joins, err
}
