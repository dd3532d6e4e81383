package session

import (
	"errors"
	"slices"
	"time"

	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/kernel"
)

// This file reads counters that programs of the kernel keep in place of perf, for many system calls
// or other tracepoints.

// countedCalls has the programs and their counters.
type countedCalls struct {
	calls   *plan.CountedCalls
	run     *load.Run
	streams []*event.Stream // streams of the counters, by number
	cpus    []int           // the counted CPUs; nil if counters are by thread
	values  map[instance]uint64
	begun   time.Time
	ended   time.Time
	swept   time.Time
	strange uint64 // number of events in rows that belong to no counter
	lost    uint64
	failed  uint64 // events that programs lost, with the misses
	// sums says that counts are not shown by CPU. Then hits that a tracepoint's own program missed,
	// since it was running already on that CPU, can be added. before has the misses up to the
	// begin, ends up to the end.
	sums         bool
	before, ends []uint64
}

// An instance is a counter on a CPU; -1 is all of them.
type instance struct{ number, cpu int }

// openCalls attaches the program to the target. A workload is released when all counters are open,
// so that its command is counted from its begin.
func openCalls(r *run, op *plan.CounterOp, byThread bool) (c *countedCalls, err error) {
	c = &countedCalls{calls: op.Calls, values: map[instance]uint64{}, sums: !op.Spec.PerInstance}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	for i, schema := range op.Schemas {
		label := op.Sources[i].Alias
		if label == "" {
			label = schema.FullName()
		}
		c.streams = append(c.streams, &event.Stream{Index: i, Schema: schema, Label: label})
	}
	t := &r.cfg.Target
	if !byThread {
		if c.cpus = t.CPUs; c.cpus == nil {
			if c.cpus, err = kernel.OnlineCPUs(); err != nil {
				return c, err
			}
		}
	}
	if c.run, err = r.env.load(c.calls.Image); err != nil {
		return c, err
	}
	if err = r.in.observeTarget(*t); err != nil {
		return c, &errHere{err}
	}
	c.calls.Image.Target.Root = r.in.watch.PID()
	return c, c.run.Attach(c.calls.Image.Target)
}

// begin starts the counting.
func (c *countedCalls) begin() error {
	c.before = c.misses()
	if err := load.Begin(c.run); err != nil {
		return err
	}
	c.begun = time.Now()
	return nil
}

// end stops the counting; the counts can still be read.
func (c *countedCalls) end() error {
	if c == nil || !c.ended.IsZero() {
		return nil
	}
	c.ended = time.Now()
	err := load.End(c.run)
	c.ends = c.misses()
	return errors.Join(err, c.run.Stop())
}

// misses counts the misses of each tracepoint so far.
func (c *countedCalls) misses() (list []uint64) {
	if c.ends != nil {
		return c.ends
	}
	for i := range c.calls.Points {
		list = append(list, load.MissesOf(c.run, c.calls.First+i))
	}
	return list
}

// points reads the counts of tracepoints with programs of their own, and returns the number of
// missed hits.
func (c *countedCalls) points() (missed uint64, err error) {
	misses := c.misses()
	for i, number := range c.calls.Points {
		taken, err := load.TakenOf(c.run, c.calls.First+i)
		if err != nil {
			return 0, err
		}
		if !c.sums {
			for cpu, n := range taken {
				c.values[instance{number, cpu}] = n
			}
			continue
		}
		all := misses[i] - c.before[i]
		missed += all
		for _, n := range taken {
			all += n
		}
		at := instance{number, -1}
		if c.cpus != nil {
			at.cpu = c.cpus[0]
		}
		c.values[at] = all
	}
	return missed, nil
}

// read appends the counts so far, by counter and CPU.
func (c *countedCalls) read(dst []perf.Count) ([]perf.Count, error) {
	if c == nil {
		return dst, nil
	}
	err := c.run.Rows(nil, func(_ *agg.Spec, p *agg.Partial) {
		number, ok := c.calls.Number(p)
		if !ok {
			c.strange += p.Hits
			return
		}
		at := instance{number, p.CPU}
		if c.cpus == nil {
			at.cpu = -1
		}
		c.values[at] += p.Hits
	})
	if err != nil {
		return dst, err
	}
	loss, err := c.run.Loss()
	if err != nil {
		return dst, err
	}
	c.failed += loss.Joins.Lost + loss.Joins.Errors
	missed, err := c.points()
	if err != nil {
		return dst, err
	}
	c.lost = c.strange + c.failed - min(c.failed, missed)
	enabled := time.Since(c.begun)
	if !c.ended.IsZero() {
		enabled = c.ended.Sub(c.begun)
	}
	cpus := c.cpus
	if cpus == nil {
		cpus = []int{-1}
	}
	for _, number := range slices.Concat(c.calls.Of, c.calls.Points) {
		for _, cpu := range cpus {
			dst = append(dst, perf.Count{Stream: c.streams[number], Event: number, CPU: cpu, TID: -1,
				Value: c.values[instance{number, cpu}], Enabled: enabled, Running: enabled})
		}
	}
	return dst, nil
}

// sweep makes room in the maps of the programs when that is due.
func (c *countedCalls) sweep() error {
	now := time.Now()
	if now.Sub(c.swept) < c.run.NextSweep(sweepTime) {
		return nil
	}
	c.swept = now
	return c.run.Sweep()
}

// counts reports that programs keep a counter.
func (c *countedCalls) counts(number int) bool {
	return c != nil && c.calls.Has(number)
}

func (c *countedCalls) close() error {
	if c == nil || c.run == nil {
		return nil
	}
	return c.run.Close()
}
