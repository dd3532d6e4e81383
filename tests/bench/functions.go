package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"ppscript/builtins/all"
	"ppscript/runtime/event"
	"ppscript/runtime/event/eventtest"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/fold"
	"ppscript/runtime/script"
	"ppscript/runtime/script/frontend"
	"ppscript/runtime/script/value"

	"go.starlark.net/starlark"
)

// This file measures the cost for each event of a script's function, compiled
// and interpreted. For comparison, perf-prof's embedded Python needs 140 ns for
// such a function. The bounds come from the design.

const functionsText = `
def predicate(e):
    return e.prev_pid > 100 and e.prev_prio < 121

def key(e):
    return e.next_pid if e.next_pid else e.prev_pid

def named(e):
    return e.next_comm == "bash"

def step(s, e):
    s.n += 1
    if s.since:
        s.total += e.time - s.since
    else:
        emit(first = e.next_pid)
    s.since = e.time

def busy(s, e):
    if s.on and e.time - s.since > 1000 * s.slow:
        emit(ran = e.time - s.since, comm = e.next_comm)
    s.on = e.next_pid != 0
    s.since = e.time
`

const switchText = "sched:sched_switch prev_comm:str prev_pid:s32 prev_prio:s32 prev_state:s64 next_comm:str next_pid:s32 next_prio:s32"

// A timing is one row of the table; 0 ns means not measured.
type timing struct {
	name                string
	native, interpreted float64 // ns per event
	nativeMax           float64 // what the design allows
	interpretedMax      float64
}

// functions measures all rows; runs is the largest number of events in a
// measurement.
func functions(runs int) ([]timing, error) {
	b, err := newFunctionBench()
	if err != nil {
		return nil, err
	}
	var rows []timing
	for _, f := range []struct {
		name, fn string
		max      float64
	}{
		{"predicate of two comparisons", "predicate", 6},
		{"key function", "key", 8},
		{"comparison of a text", "named", 0},
	} {
		row, err := b.function(f.name, f.fn, runs)
		if err != nil {
			return nil, err
		}
		row.nativeMax, row.interpretedMax = f.max, 130
		rows = append(rows, row)
	}
	for _, f := range []struct {
		name, fn string
		keys     int
		max      float64
	}{
		{"fold of three members, 100 keys", "step", 100, 25},
		{"fold of three members, a million keys", "step", 1_000_000, 80},
		{"fold that tests and emits, 100 keys", "busy", 100, 0},
	} {
		row, err := b.fold(f.name, f.fn, f.keys, runs)
		if err != nil {
			return nil, err
		}
		row.nativeMax, row.interpretedMax = f.max, 400
		rows = append(rows, row)
	}
	groups, err := b.groups(runs)
	return append(rows, groups...), err
}

type functionBench struct {
	host    *script.Host
	globals starlark.StringDict
	scope   *expr.Scope
	stream  *event.Stream
	events  []*event.Event
}

// chunk is the number of events that are processed together, as from a ring
// that is read soon after it was written.
const chunk = 512

func newFunctionBench() (*functionBench, error) {
	c, err := eventtest.ParseText(switchText)
	if err != nil {
		return nil, err
	}
	r, err := all.Registry()
	if err != nil {
		return nil, err
	}
	b := &functionBench{
		host: script.NewHost(script.HostOptions{Predeclared: r.Predeclared()}), stream: c.Streams[0],
	}
	m, err := b.host.LoadSource("functions.star", functionsText)
	if err != nil {
		return nil, err
	}
	b.globals = m.Globals
	b.scope = &expr.Scope{Schema: c.Schemas[0], Vars: map[string]expr.Node{}}
	rnd := rand.New(rand.NewPCG(1, 2))
	text := switchText
	for i := range chunk {
		text += fmt.Sprintf(
			"\n%dus %d %d prev_comm=make prev_pid=%d prev_prio=%d next_comm=bash next_pid=%d next_prio=120",
			i+1, i%4, i%100, rnd.IntN(200), 100+rnd.IntN(30), rnd.IntN(100))
	}
	if c, err = eventtest.ParseText(text); err != nil {
		return nil, err
	}
	for i := range c.Events {
		c.Events[i].Stream = b.stream
		b.events = append(b.events, &c.Events[i])
	}
	return b, nil
}

// best returns the ns per event of run, which handles a chunk: the first decile of
// many short rounds. Other work on the machine only makes rounds slower, and most
// rounds are shorter than a time slice of the scheduler.
func best(runs int, run func()) float64 {
	const rounds = 100
	all := make([]float64, rounds)
	for i := range all {
		begin := time.Now()
		n := 0
		for ; n < max(1, runs/rounds); n += chunk {
			run()
		}
		all[i] = float64(time.Since(begin).Nanoseconds()) / float64(n)
	}
	slices.Sort(all)
	return all[rounds/10]
}

func (b *functionBench) function(name, fn string, runs int) (timing, error) {
	f, err := frontend.NewFunc(b.host, b.globals[fn].(starlark.Callable))
	if err != nil {
		return timing{}, err
	}
	if err := f.Check([]*expr.Scope{b.scope}); err != nil {
		return timing{}, err
	}
	node, err := f.Lower(b.scope, expr.Any)
	if err != nil {
		return timing{}, err
	}
	p := expr.Build(node)
	var frame expr.Frame
	var sum, want int64
	row := timing{name: name}
	var chunks [2]int64 // numbers of chunks for the native function and for the interpreted one
	row.native = best(runs, func() {
		chunks[0]++
		for _, e := range b.events {
			frame.Reset(e)
			if p.Type.Kind == expr.Bool {
				if p.Bool(&frame) {
					sum++
				}
			} else {
				sum += p.Int(&frame)
			}
		}
	})
	var failed error
	row.interpreted = best(runs/8, func() {
		chunks[1]++
		for _, e := range b.events {
			v, err := f.Call(e)
			if err != nil {
				failed = err
			}
			want += v.Int()
		}
	})
	if err := errors.Join(failed, frame.Err); err != nil {
		return row, err
	}
	if sum/chunks[0] != want/chunks[1] {
		return row, fmt.Errorf("%s: native adds up to %d, interpreted to %d", name, sum/chunks[0],
			want/chunks[1])
	}
	return row, nil
}

// none discards the events that folds emit.
type none struct{ n int }

func (x *none) Events(evs []*event.Event)    { x.n += len(evs) }
func (*none) Lost(int32, uint64, event.Time) {}

func (b *functionBench) fold(name, fn string, keys, runs int) (timing, error) {
	row := timing{name: name}
	var emitted [2]int
	for i, interpret := range []bool{false, true} {
		f, out, err := b.newFold(fn, interpret)
		if err != nil {
			return row, err
		}
		r := rand.New(rand.NewPCG(3, 4))
		tids := make([]int32, max(1<<16, 2*keys)&^(chunk-1))
		for i := range tids {
			tids[i] = int32(r.IntN(keys))
		}
		at := 0
		run := func() {
			for i, tid := range tids[at : at+chunk] {
				b.events[i].TID = tid
				b.events[i].Time += chunk * 1000
			}
			f.Events(b.events)
			at = (at + chunk) % len(tids)
		}
		for range len(tids) / chunk {
			run() // after this, all keys have a state
		}
		emitted[i] = out.n
		if interpret {
			row.interpreted = best(runs/8, run)
		} else {
			row.native = best(runs, run)
		}
		if l := f.Loss(); l != (event.Loss{}) {
			return row, fmt.Errorf("%s: %+v", name, l)
		}
	}
	if emitted[0] != emitted[1] {
		return row, fmt.Errorf("%s: native emits %d events, interpreted %d", name, emitted[0], emitted[1])
	}
	return row, nil
}

func (b *functionBench) newFold(fn string, interpret bool) (*fold.Fold, *none, error) {
	state := starlark.NewDict(3)
	members := map[string]starlark.Value{
		"n": starlark.MakeInt(0), "since": starlark.MakeInt(0), "total": value.Duration(0),
	}
	if fn == "busy" {
		members = map[string]starlark.Value{
			"on": starlark.False, "since": starlark.MakeInt(0), "slow": value.Duration(1),
		}
	}
	for k, v := range members {
		if err := state.SetKey(starlark.String(k), v); err != nil {
			return nil, nil, err
		}
	}
	m, err := frontend.NewMachine(b.host, state, b.globals[fn].(starlark.Callable), nil)
	if err != nil {
		return nil, nil, err
	}
	if err := m.Bind([]*expr.Scope{b.scope}, nil); err != nil {
		return nil, nil, err
	}
	p := expr.InterpretedStep(m.Run)
	if !interpret {
		n, err := m.LowerStep(b.scope)
		if err != nil {
			return nil, nil, err
		}
		p = expr.Build(n)
	}
	key, err := cexpr.Compile("tid", b.scope)
	if err != nil {
		return nil, nil, err
	}
	numbers, texts := m.Initial()
	s := fold.Spec{
		Key:   flow.NewFn([]*expr.Program{key}, 0),
		Step:  flow.NewFn([]*expr.Program{p}, 0),
		Init:  numbers,
		Texts: texts,
	}
	if fields := m.Emits(); fields != nil {
		s.Out = &event.Stream{Index: 1, Schema: &event.Schema{Name: fn, Fields: fields}}
	}
	out := &none{}
	return fold.New(s, out), out, nil
}

func printFunctions(w io.Writer, rows []timing) {
	fmt.Fprintf(w, "\n%-38s %10s %8s %12s %8s %9s\n", "functions of a script, ns per event", "native",
		"allowed", "interpreted", "allowed", "ratio")
	limit := func(ns float64) string {
		if ns == 0 {
			return "-"
		}
		return fmt.Sprintf("%.0f", ns)
	}
	for _, r := range rows {
		if r.interpreted == 0 {
			fmt.Fprintf(w, "%-38s %10.1f %8s %12s %8s %9s\n", r.name, r.native, limit(r.nativeMax),
				"-", "-", "-")
			continue
		}
		fmt.Fprintf(w, "%-38s %10.1f %8s %12.1f %8s %8.1fx\n", r.name, r.native, limit(r.nativeMax),
			r.interpreted, limit(r.interpretedMax), r.interpreted/r.native)
	}
}
