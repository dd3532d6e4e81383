package plan

import (
	"slices"
	"strconv"

	"ppscript/bpf"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/source/eventspec"
)

// This file chooses the counters that programs count in place of perf. If a script counts many tracepoints,
// perf needs an event for each, and closing 360 of them takes 15 s (see bpf/many.go). One program counts all
// tracepoints of system calls; each other tracepoint has a program of its own. The events that are made from
// the counts are the same as with perf's counters.

// CountedCalls are the counters that programs count.
type CountedCalls struct {
	Image *bpf.Image
	Of    []int // indices in Schemas: the events that one program counts
	// Points are the indices of events with a program of their own; the first program belongs to
	// event First.
	Points []int
	First  int
}

// countedCalls finds the counters that programs can count; nil if there are few.
func (op *CounterOp) countedCalls(b *builder) *CountedCalls {
	env := &b.env.KernelEnv
	if env.Host == nil || env.Target == nil || env.No != "" || b.env.ByThread && op.Spec.PerInstance {
		return nil // perf counts each thread by itself
	}
	var events []*bpf.Event
	var numbers []int
	for i, schema := range op.Schemas {
		if s := op.Sources[i]; s.Filter == "" && s.CPUs == nil && s.Sampling == (eventspec.Sampling{}) {
			events = append(events, &bpf.Event{Schema: schema, Label: schema.FullName()})
			numbers = append(numbers, i)
		}
	}
	group := &agg.Spec{Aggs: []agg.Agg{{Op: agg.Count}}, Args: []agg.Arg{{}}}
	part := &bpf.Part{Intervals: true, Counted: true}
	calls := &CountedCalls{}
	var keys []*expr.Program
	for k, i := range bpf.Calls(events, env.Host) {
		e := events[i]
		e.Stream = k
		part.Events = append(part.Events, e)
		part.Edges = append(part.Edges, &bpf.Edge{Name: "counters", Stream: k, Group: group})
		calls.Of = append(calls.Of, numbers[i])
		keys = append(keys, expr.Build(expr.NewStr(strconv.Itoa(numbers[i]))))
	}
	calls.First = len(part.Events)
	for _, i := range bpf.Points(events, env.Host, b.env.ByThread) {
		e := events[i]
		e.Stream = len(part.Events)
		part.Events = append(part.Events, e)
		calls.Points = append(calls.Points, numbers[i])
	}
	if len(part.Events) == 0 {
		return nil
	}
	group.Keys = []*flow.Fn{flow.NewFn(keys, -1)}
	var err error
	if calls.Image, err = bpf.Generate(part, env.Host, env.Target); err != nil {
		return nil // perf can
	}
	return calls
}

// Number is the index in Schemas of the event that a row of the program counts.
func (c *CountedCalls) Number(p *agg.Partial) (number int, ok bool) {
	if p.Other || len(p.Key) < 4 {
		return 0, false
	}
	number, err := strconv.Atoi(string(p.Key[4:])) // behind its length
	return number, err == nil
}

// Has reports that programs count one of the Schemas.
func (c *CountedCalls) Has(number int) bool {
	return c != nil && (slices.Contains(c.Of, number) || slices.Contains(c.Points, number))
}
