package session

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/kernel"
)

// This file reads counters of system calls that one program counts, as those of perf are read.

// countedCalls count system calls from begin on.
type countedCalls struct {
	calls   *plan.CountedCalls
	run     *load.Run
	watch   *perf.Watch
	streams []*event.Stream // of the counters, by number
	cpus    []int           // that are counted; nil if the counters are about threads
	values  map[instance]uint64
	begun   time.Time
	ended   time.Time
	swept   time.Time
	lost    uint64
}

// An instance is a counter on a CPU; -1 is all of them.
type instance struct{ number, cpu int }

// openCalls has the program count what happens to the target. A workload is released once all who open
// counters are ready, its command counts from the begin.
func openCalls(r *run, op *plan.CounterOp, byThread bool) (c *countedCalls, err error) {
	c = &countedCalls{calls: op.Calls, values: map[instance]uint64{}}
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
	if c.watch, err = perf.OpenWatch(*t); err != nil {
		return c, &errHere{err}
	}
	c.calls.Image.Target.Root = c.watch.PID()
	return c, c.run.Attach(c.calls.Image.Target)
}

// begin counts from now on.
func (c *countedCalls) begin() error {
	if c == nil {
		return nil
	}
	if err := load.Begin(c.run); err != nil {
		return err
	}
	c.begun = time.Now()
	return c.watch.Release()
}

// end counts no more; what was counted stays to be read.
func (c *countedCalls) end() error {
	if c == nil || !c.ended.IsZero() {
		return nil
	}
	c.ended = time.Now()
	return errors.Join(load.End(c.run), c.run.Stop())
}

// read appends what was counted so far, by counter and CPU.
func (c *countedCalls) read(dst []perf.Count) ([]perf.Count, error) {
	if c == nil {
		return dst, nil
	}
	err := c.run.Rows(nil, func(_ *agg.Spec, p *agg.Partial) {
		number, ok := c.calls.Number(p)
		if !ok {
			c.lost += p.Hits
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
	c.lost += loss.Joins.Lost + loss.Joins.Errors
	enabled := time.Since(c.begun)
	if !c.ended.IsZero() {
		enabled = c.ended.Sub(c.begun)
	}
	cpus := c.cpus
	if cpus == nil {
		cpus = []int{-1}
	}
	for _, number := range c.calls.Of {
		for _, cpu := range cpus {
			dst = append(dst, perf.Count{Stream: c.streams[number], Event: number, CPU: cpu, TID: -1,
				Value: c.values[instance{number, cpu}], Enabled: enabled, Running: enabled})
		}
	}
	return dst, nil
}

// wait sleeps for d, less if the target ends.
func (c *countedCalls) wait(ctx context.Context, d time.Duration) error {
	if now := time.Now(); now.Sub(c.swept) >= c.run.NextSweep(sweepTime) {
		c.swept = now
		if err := c.run.Sweep(); err != nil {
			return err
		}
	}
	return c.watch.Wait(ctx, d)
}

// counts reports that a counter is one of these.
func (c *countedCalls) counts(number int) bool {
	return c != nil && slices.Contains(c.calls.Of, number)
}

func (c *countedCalls) status() (*os.ProcessState, bool) {
	if c == nil || c.watch == nil {
		return nil, false
	}
	return c.watch.WorkloadStatus()
}

func (c *countedCalls) close() error {
	if c == nil {
		return nil
	}
	var errs []error
	if c.run != nil {
		errs = append(errs, c.run.Close())
	}
	if c.watch != nil {
		errs = append(errs, c.watch.Close())
	}
	return errors.Join(errs...)
}
