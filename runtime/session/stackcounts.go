package session

import (
	"context"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
	"ppscript/runtime/source/perfdata"
	"ppscript/runtime/stack"
	"ppscript/runtime/stack/naming"
)

// This file delivers counts by stack as results, at each interval. Counts that go
// to files are delivered by stackfile.go.

// stackCounts is the common part of both deliveries of counts by stack.
type stackCounts struct {
	plan.NoDelivery
	to     *results
	op     *plan.StacksRun    // nil until begin
	before *naming.Symbolized // counts that were symbolized, so that their stacks could be freed; may be nil
}

func (c *stackCounts) Begin(_ context.Context, op plan.Running) error {
	c.op = op.(*plan.StacksRun)
	return nil
}

func (*stackCounts) Late() bool { return true }

// result makes a result from the counts so far.
func (c *stackCounts) result(m result.Meta) *result.Stacks {
	s := c.op
	out := &result.Stacks{
		Meta:    m,
		Value:   s.Value.Name,
		Unit:    s.Value.Unit,
		Periods: s.Periods,
		Totals:  s.Spec.Totals,
	}
	if c.before != nil {
		out.Samples, out.Cut, out.Unwound = c.before.List(), c.before.Cut, c.before.Unwound
	}
	cut, unwound := c.counted(c.to.stacks, func(x *result.StackSample) {
		x.Frames = slices.Clone(x.Frames)
		out.Samples = append(out.Samples, *x)
	})
	out.Cut += cut
	out.Unwound += unwound
	if c.before != nil {
		out.Merge()
	}
	out.Sort()
	out.Keys = s.KeysOf(out.Samples)
	return out
}

// counted calls fn for each count since the last symbolize, with frames that are
// valid until fn returns. It returns the number of samples whose stacks lack outer
// frames, and of samples whose stacks were unwound.
func (c *stackCounts) counted(w *runStacks, fn func(x *result.StackSample)) (cut, unwound uint64) {
	s := c.op
	keys, count := plan.StacksKey+len(s.Keys), s.Counted()
	rows := s.Group.Rows()
	w.Prepare(func(yield func(stack.ID) bool) {
		for _, row := range rows {
			if !yield(stack.ID(row[plan.StacksStack].Uint())) ||
				s.Spec.Above != nil && !yield(stack.ID(row[keys].Uint())) {
				return
			}
		}
	})
	for i, row := range rows {
		if named := c.to.cfg.Options.Recording.Named; named != nil {
			named(uint64(i), uint64(len(rows)))
		}
		x := result.StackSample{PID: int32(row[plan.StacksPID].Int()),
			Key: namedKey(row[plan.StacksKey:keys]), Count: row[count].Uint()}
		if s.Value.Name != "" {
			x.Value = wholeOf(row[count+1])
		}
		var st stack.Stack
		w.line = w.line[:0]
		if s.Spec.OnTop != nil {
			w.line = naming.Label(w.line, row[count-1].String())
		}
		if s.Spec.Above != nil {
			w.line = w.FramesAbove(w.line, stack.ID(row[keys].Uint()))
		}
		w.line, st = w.Frames(w.line, stack.ID(row[plan.StacksStack].Uint()))
		x.Frames, x.Cut = w.line, st.Cut
		if st.Cut {
			cut += x.Count
		}
		if st.Unwound {
			unwound += x.Count
		}
		fn(&x)
	}
	if x, some := c.other(); some {
		fn(&x)
	}
	return cut, unwound
}

// namedKey returns the key of a count for results. A text of the user that equals agg.OtherKey is
// changed, since that key stands for samples that found no room.
func namedKey(key []event.Value) []event.Value {
	for i, v := range key {
		if v.Kind == event.StrValue && v.String() == agg.OtherKey {
			key = slices.Clone(key)
			key[i] = event.StrOf(agg.Named(v.String()))
		}
	}
	return key
}

// other returns the samples that found no room in the group, as one sample with the function
// naming.NoRoom and the keys agg.OtherKey; some is false if all found room.
func (c *stackCounts) other() (x result.StackSample, some bool) {
	row := c.op.Group.Other()
	if row == nil {
		return x, false
	}
	keys, count := plan.StacksKey+len(c.op.Keys), c.op.Counted()
	x = result.StackSample{PID: -1, Key: row[plan.StacksKey:keys], Count: row[count].Uint(),
		CallStack: result.StackOf(naming.NoRoom)}
	if c.op.Value.Name != "" {
		x.Value = wholeOf(row[count+1])
	}
	return x, true
}

// wholeOf returns a sum as an int64, rounded down; a sum outside the range gives the nearest
// end of the range.
func wholeOf(v event.Value) int64 {
	n, _ := v.Number()
	return n.Int()
}

// symbolize replaces the counted stacks by their names, so that the stacks can
// be freed. It returns the number of samples whose names found no room.
func (c *stackCounts) symbolize(w *runStacks, show naming.FrameDetail) (evicted uint64) {
	if c.op.Group.Len() == 0 {
		return 0
	}
	if c.before == nil {
		c.before = naming.NewSymbolized()
	}
	names := naming.NewNames(show)
	cut, unwound := c.counted(w, func(x *result.StackSample) { c.before.Add(names, x) })
	c.before.Cut += cut
	c.before.Unwound += unwound
	c.before.Loss.Add(c.op.Group.Loss())
	c.op.Group.Reset()
	const bytes = 256 // size of one entry
	most := c.to.cfg.Options.Limits.budget.Share(4, bytes, naming.MostSymbolized)
	return c.before.Bound(most, c.weight())
}

// weight returns the measure that decides which stacks are kept: the value if
// there is one, else the count.
func (c *stackCounts) weight() func(t *naming.Tally) int64 {
	if c.op.Value.Name != "" {
		return func(t *naming.Tally) int64 { return t.Value }
	}
	return func(t *naming.Tally) int64 { return int64(t.Count) }
}

// clear removes all counts.
func (c *stackCounts) clear() {
	c.op.Group.Reset()
	c.before = nil
}

// loss returns the loss of the operator, including counts that were symbolized.
func (c *stackCounts) loss() event.Loss {
	loss := c.op.Group.Loss()
	if c.before != nil {
		loss.Add(c.before.Loss)
	}
	return loss
}

// stackResult delivers counts by stack as results. aside says that they are not shown
// but sent to another machine.
type stackResult struct {
	stackCounts
	aside    bool
	recorded *perfdata.Info // nil in a live run
}

func (d *stackResult) ShowsLoss() bool { return !d.aside }

func (d *stackResult) Elsewhere() bool { return d.aside }

func (d *stackResult) letGo(w *runStacks) { d.symbolize(w, naming.All) }

// Tick shows the counts by stack of the interval.
func (d *stackResult) Tick(t *plan.Interval) error {
	spec := d.op.Spec
	res := d.result(t.Meta(d.op.Name, spec.Title, d.to.missing(t, d.loss())))
	if res.Aside = d.aside; res.Aside {
		res.KernelID = naming.KernelID(d.recorded)
	}
	if spec.Code != nil {
		d.clear()
		table, err := spec.Code.Table(res, d.to.stacks.Code, d.to.msgs.sayOnce)
		if table == nil {
			return err
		}
		return d.to.table(table)
	}
	if spec.Flat != nil {
		d.clear()
		table, err := res.Flat(spec.Flat, spec.Top)
		if err != nil {
			return err
		}
		return d.to.table(table)
	}
	res.Merge()
	res.Sort()
	if spec.Top > 0 {
		res.Top(spec.Top)
	}
	if err := d.to.out.Show(res); err != nil {
		return err
	}
	d.clear()
	return nil
}
