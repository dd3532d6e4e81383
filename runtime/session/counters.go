package session

import (
	"context"
	"errors"
	"slices"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventkind"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/source/reading"
	"ppscript/runtime/source/wallclock"
	"ppscript/runtime/system/poll"
)

// counters holds all counters of a run. They are a source of events, which reach
// operators as events of rings do, and are opened together with these, before a
// workload runs.
type counters struct {
	list    []*counterRun
	holds   bool           // a held command waits until all counters of CPUs have begun
	counted *counterWindow // nil unless the run also has events
	runs    commandRuns
}

func (c *counters) any() bool { return len(c.list) > 0 }

func (c *counters) open(ctx context.Context, r *run) (err error) {
	sets := plan.Runs[*plan.CounterSet](r.instance)
	if err := c.runs.plan(sets, r); err != nil {
		return err
	}
	// Counters of CPUs count before the command runs, so the command waits until all have been read
	// once.
	if t := r.cfg.Target; len(sets) > 0 && t.Workload != nil && t.System {
		t.Workload.Openers++
		if err = r.in.observeTarget(t); err != nil {
			return err
		}
		c.holds = true
	}
	for _, set := range sets {
		n, err := openCounters(ctx, r, set)
		if err != nil {
			return err
		}
		n.run = c.runs.now
		c.list = append(c.list, n)
	}
	return nil
}

// begin starts all counters, and the samples that are compared with them. If a command is held,
// nothing needs to be done: it makes no events before it runs.
func (c *counters) begin(r *run) error {
	err := c.each(func(n *counterRun) error {
		if n.calls == nil {
			return nil
		}
		if err := n.calls.begin(); err != nil {
			return err
		}
		return r.in.watch.Release()
	})
	if err != nil {
		return err
	}
	if r.cfg.Target.Workload != nil && !r.cfg.Target.System {
		return nil
	}
	if c.counted != nil {
		c.counted.from = r.clock.Now()
	}
	if err := c.each((*counterRun).restart); err != nil || !c.holds {
		return err
	}
	return r.in.watch.Release()
}

// since makes the first periods begin with the run's first interval, so that both end together.
func (c *counters) since(at time.Time) {
	for _, n := range c.list {
		if n.period > 0 {
			n.next = at.Add(n.period)
		}
	}
}

// follow looks for new threads, and returns the time of the next read.
func (c *counters) follow() (next time.Time) {
	for _, n := range c.list {
		if n.counters != nil {
			n.counters.Follow()
		}
		next = poll.Earliest(next, n.next)
	}
	return next
}

// each calls fn for all of them, until it fails.
func (c *counters) each(fn func(n *counterRun) error) error {
	for _, n := range c.list {
		if err := fn(n); err != nil {
			return err
		}
	}
	return nil
}

// due reads the counters whose period has ended.
func (c *counters) due(now time.Time) error {
	return c.each(func(n *counterRun) error { return n.due(now) })
}

func (c *counters) read() error { return c.each((*counterRun).read) }

// stop ends with a last read of all: they are disabled one after the other, which takes longer.
func (c *counters) stop() error {
	err := c.each((*counterRun).end)
	return errors.Join(err, c.counted.stop(), c.each((*counterRun).stop))
}

// gaps counts the CPUs that came online and were not counted at first.
func (c *counters) gaps() (n uint64) {
	for _, one := range c.list {
		n += one.missed()
	}
	return n
}

func (c *counters) close(workload *ending) error {
	var errs []error
	for _, n := range c.list {
		errs = append(errs, n.calls.close())
		if n.counters != nil {
			workload.of(n.counters.WorkloadStatus())
			errs = append(errs, n.counters.Close())
		}
	}
	return errors.Join(errs...)
}

// describe returns a line for each attached program or counter.
func (c *counters) describe() (lines []string) {
	for _, n := range c.list {
		if n.calls != nil {
			lines = append(lines, n.calls.run.Describe()...)
		}
		if n.counters != nil {
			lines = append(lines, n.counters.Describe()...)
		}
	}
	return lines
}

// waitCounters sleeps for d, less if the target ends: for a run of counters alone.
func (s *sources) waitCounters(ctx context.Context, d time.Duration) error {
	n := s.counters.list[0]
	if n.counters != nil {
		return n.counters.Wait(ctx, d)
	}
	if err := n.calls.sweep(); err != nil {
		return err
	}
	return s.watch.Wait(ctx, d)
}

// wakeCounters makes waitCounters return.
func (s *sources) wakeCounters() {
	if n := s.counters.list[0]; n.counters != nil {
		n.counters.Wake()
		return
	}
	s.watch.Wake()
}

// A counterRun reads counters at their period and makes events of the
// differences.
type counterRun struct {
	clock    *wallclock.Clock
	router   *flow.Router
	set      *plan.CounterSet
	calls    *countedCalls // nil if perf counts all
	tools    []toolCount
	counters *perf.Counters // nil if a program counts all
	numbers  []int          // index in set of each counted event
	period   time.Duration
	byThread bool // by thread, not by CPU
	run      int  // which run of the command it is, from 1
	next     time.Time
	ended    bool // counting has ended
	before   []perf.Count
	now      []perf.Count
	gaps     uint64 // gaps of the counters that were reported

	evs     []event.Event
	derived []event.Derived
	ptrs    []*event.Event
}

func openCounters(ctx context.Context, r *run, set *plan.CounterSet) (*counterRun, error) {
	cfg := r.env.perfConfig(r.plan)
	cfg.Events = nil
	c := &counterRun{
		clock:    &r.clock,
		router:   r.instance.Router,
		set:      set,
		period:   time.Duration(set.Spec.PeriodNS),
		byThread: r.env.env(r.cfg).ByThread,
	}
	if c.period == 0 {
		c.period = r.cfg.Options.Interval
	}
	if set.Calls != nil {
		var err error
		if c.calls, err = openCalls(r, set.CounterOp, c.byThread); err != nil {
			var here *errHere
			if errors.As(err, &here) {
				return nil, here.error
			}
			r.env.msgs.verbose(1, "the kernel refused the program that counts system calls, perf does: "+
				err.Error())
			c.calls = nil
		}
	}
	for i, schema := range set.Schemas {
		if c.calls.counts(i) {
			continue
		}
		s := set.Sources[i]
		if s.Kind == eventspec.Tool {
			if err := c.addTool(i, s, schema, cfg.Target.Workload); err != nil {
				return nil, errors.Join(err, c.calls.close())
			}
			continue
		}
		c.numbers = append(c.numbers, i)
		ev := eventkind.Opened(s, schema, s.Alias, s.Filter)
		ev.Quiet = set.Spec.Missing
		r.env.events.here.Configure(&ev, s, nil)
		cfg.Events = append(cfg.Events, ev)
	}
	if len(cfg.Events) == 0 && c.calls == nil {
		// An event is needed to start the command and to notice its end.
		dummy, err := perf.SoftwareSchema("dummy")
		if err != nil {
			return nil, err
		}
		c.numbers = append(c.numbers, silent)
		cfg.Events = append(cfg.Events, perf.EventConfig{Schema: dummy})
	}
	if len(cfg.Events) > 0 {
		if c.calls != nil && cfg.Target.Workload != nil {
			cfg.Target.Workload.Openers++
		}
		var err error
		if c.counters, err = perf.OpenCounters(ctx, cfg); err != nil {
			return nil, errors.Join(err, c.calls.close())
		}
	}
	return c, nil
}

// due reads the counters if it is time. Missed reads are not repeated: the next
// one has the sum.
func (c *counterRun) due(now time.Time) error {
	if c.period == 0 || now.Before(c.next) {
		return nil
	}
	for !c.next.After(now) {
		c.next = c.next.Add(c.period)
	}
	return c.read()
}

// restart begins at the present counts.
func (c *counterRun) restart() (err error) {
	c.before, err = c.counts(c.before[:0])
	return err
}

// counts appends the counts so far, by counter, thread and CPU. Counts of programs come first,
// since CPUs that come online add counters of perf at the end.
func (c *counterRun) counts(dst []perf.Count) ([]perf.Count, error) {
	dst, err := c.readTools(dst)
	if err != nil {
		return dst, err
	}
	if dst, err = c.calls.read(dst); err != nil || c.counters == nil {
		return dst, err
	}
	first := len(dst)
	dst, err = c.counters.Read(dst)
	for i := first; i < len(dst); i++ {
		dst[i].Event = c.numbers[dst[i].Event]
	}
	return slices.DeleteFunc(dst, func(n perf.Count) bool { return n.Event == silent }), err
}

// missed returns the number of gaps in the counts: CPUs that came online, and calls
// that a program missed.
func (c *counterRun) missed() (n uint64) {
	if c.calls != nil {
		n += c.calls.lost
	}
	if c.counters != nil {
		n += c.counters.Gaps()
	}
	return n
}

// end reads the counters for the last time.
func (c *counterRun) end() error {
	if err := c.calls.end(); err != nil {
		return err
	}
	err := c.read()
	c.ended = true
	return err
}

func (c *counterRun) stop() error {
	if c.counters == nil {
		return nil
	}
	return c.counters.Stop()
}

func (c *counterRun) read() error {
	if c.ended {
		return nil
	}
	var err error
	if c.now, err = c.counts(c.now[:0]); err != nil {
		return err
	}
	for len(c.before) < len(c.now) {
		c.before = append(c.before, perf.Count{}) // zero for a CPU that came online
	}
	c.evs, c.derived = c.evs[:0], c.derived[:0]
	at := c.clock.Now()
	if gaps := c.missed(); gaps > c.gaps {
		lost := event.Event{
			Kind:  event.Lost,
			Time:  at,
			Count: uint32(gaps - c.gaps),
			PID:   -1,
			TID:   -1,
			CPU:   -1,
			Ring:  -1,
		}
		c.gaps = gaps
		c.router.Events([]*event.Event{&lost})
		c.set.Sink().Lost(lost.Ring, uint64(lost.Count), at)
	}
	for i := range c.now {
		n, b := &c.now[i], &c.before[i]
		if c.byThread {
			n.CPU = -1 // a thread's counters, one for each CPU, are one instance
		}
		slots := make([]event.Value, reading.CounterSlots)
		slots[reading.CounterName] = event.StrOf(n.Stream.Label)
		slots[reading.CounterValue] = event.IntOf(int64(n.Value - b.Value))
		slots[reading.CounterCPU] = event.IntOf(int64(n.CPU))
		slots[reading.CounterThread] = event.IntOf(int64(n.TID))
		slots[reading.CounterEnabled] = event.DurationOf(int64(n.Enabled - b.Enabled))
		slots[reading.CounterRunning] = event.DurationOf(int64(n.Running - b.Running))
		slots[reading.CounterOrder] = event.IntOf(int64(n.Event))
		slots[reading.CounterRun] = event.IntOf(int64(c.run))
		if last := len(c.derived) - 1; last >= 0 && c.sums(last, n) {
			for _, s := range []int{reading.CounterValue, reading.CounterEnabled, reading.CounterRunning} {
				old := &c.derived[last].Slots[s]
				*old = add(*old, slots[s])
			}
			continue
		}
		c.derived = append(c.derived, event.Derived{Slots: slots})
		c.evs = append(c.evs, event.Event{
			Stream: c.set.Stream,
			Time:   at,
			CPU:    int32(n.CPU),
			TID:    int32(n.TID),
			PID:    -1,
		})
	}
	c.before, c.now = c.now, c.before
	c.ptrs = c.ptrs[:0]
	for i := range c.evs {
		c.evs[i].Derived = &c.derived[i]
		c.ptrs = append(c.ptrs, &c.evs[i])
	}
	c.router.Samples += uint64(len(c.ptrs))
	c.set.Sink().Events(c.ptrs)
	return nil
}

// sums reports that n must be added to the last event, since it has the same
// counter and, if instances are shown, the same instance. Counts come sorted by
// counter, thread and CPU.
func (c *counterRun) sums(last int, n *perf.Count) bool {
	slots := c.derived[last].Slots
	return slots[reading.CounterOrder].Int() == int64(n.Event) && (!c.set.Spec.PerInstance ||
		slots[reading.CounterCPU].Int() == int64(n.CPU) && slots[reading.CounterThread].Int() == int64(n.TID))
}

func add(a, b event.Value) event.Value {
	if a.Kind == event.DurationValue {
		return event.DurationOf(a.Int() + b.Int())
	}
	return event.IntOf(a.Int() + b.Int())
}
