package timeline

import (
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/overlap"
	"ppscript/runtime/text/plain"
)

// shape says how the events of a stream are shown.
type shape uint8

const (
	instants shape = iota
	samples        // samples of clocks and counters
	pairs
	derived // events without a record, from a fold or a let
	switches
	wakes1
)

// A kind caches what a Builder needs for the events of a stream.
type kind struct {
	shape  shape
	name   string
	args   []Arg
	stacks bool // its events have stacks
	sched  schedFields

	start, end *kind        // the kinds of a pair's events
	depth      *event.Field // nesting depth of calls
	threads    [2]*event.Field
	tid, took  *event.Field // thread and duration of a derived event; a part of a pair has only took
	begin      *event.Field // begin of parts of pairs
}

// kindOf returns the kind of the event's stream.
func (b *Builder) kindOf(e *event.Event) *kind {
	i := e.Stream.Index
	if i < len(b.kinds) && b.kinds[i] != nil {
		return b.kinds[i]
	}
	for i >= len(b.kinds) {
		b.kinds = append(b.kinds, nil)
	}
	b.kinds[i] = b.learn(e)
	return b.kinds[i]
}

func (b *Builder) learn(e *event.Event) *kind {
	st := e.Stream
	s := st.Schema
	k := &kind{name: string(plain.Append(nil, nameOf(st)))}
	k.stacks = b.opt.Stacks != nil && b.opt.Stacks(st)
	if e.Derived == nil || e.Derived.Start == nil && e.Rec != nil {
		k.args = b.argsOf(s, "", itself)
		k.shape = shapeOf(s)
		if k.shape == switches || k.shape == wakes1 {
			if !k.sched.find(s) {
				k.shape = instants
			}
		}
		return k
	}
	if e.Derived.Start == nil {
		k.shape, k.args = derived, b.argsOf(s, "", itself)
		k.findSpan(s)
		return k
	}
	k.shape = pairs
	k.start = b.kindOf(e.Derived.Start)
	k.args = append(b.argsOf(s, "", itself), b.argsOf(e.Derived.Start.Stream.Schema, "start.", start)...)
	k.threads[0] = threadField(e.Derived.Start.Stream.Schema)
	if e.Derived.End != nil {
		k.end = b.kindOf(e.Derived.End)
		k.args = append(k.args, b.argsOf(e.Derived.End.Stream.Schema, "end.", end)...)
		k.threads[1] = threadField(e.Derived.End.Stream.Schema)
	}
	if s.System == overlap.System {
		k.begin, _ = s.Field("begin")
		k.took, _ = s.Field("delay")
	}
	if f, ok := s.Field("depth"); ok && f.Place == event.InSlot {
		k.depth = f
	}
	return k
}

func nameOf(st *event.Stream) string {
	if st.Label != "" {
		return st.Label
	}
	return st.Schema.FullName()
}

func shapeOf(s *event.Schema) shape {
	switch {
	case s.System == "sched" && s.Name == "sched_switch":
		return switches
	case s.System == "sched" && (s.Name == "sched_waking" || strings.HasPrefix(s.Name, "sched_wakeup")):
		return wakes1
	case s.System == "software" && (s.Name == "cpu-clock" || s.Name == "task-clock"):
		return samples
	case slices.Contains([]string{"hardware", "cache", "pmu", "raw"}, s.System):
		return samples
	}
	return instants
}

// findSpan finds the fields of a fold's event that have its duration, if exactly one
// field is a duration, and its thread.
func (k *kind) findSpan(s *event.Schema) {
	n := 0
	for i := range s.Fields {
		f := &s.Fields[i]
		if f.Place != event.InSlot {
			continue
		}
		if f.Unit == event.Nanos {
			k.took, n = f, n+1
		}
		if f.Name == "tid" || k.tid == nil && f.Name == "_tid" {
			k.tid = f
		}
	}
	if n != 1 {
		k.took = nil
	}
}

// threadField returns the field of a scheduling event with the thread that becomes ready
// or runs; nil if there is none.
func threadField(s *event.Schema) *event.Field {
	if s.System != "sched" {
		return nil
	}
	for _, name := range []string{"next_pid", "pid"} {
		if f, ok := s.Field(name); ok && f.Place == event.InRaw && f.Kind == event.Int {
			return f
		}
	}
	return nil
}

// thread returns the thread of a pair of scheduling events: both events name it, or the
// start and the key do.
func (k *kind) thread(key event.Value, d *event.Derived) (int32, bool) {
	if k.threads[0] == nil || k.threads[1] == nil {
		return 0, false
	}
	from, ok := k.threads[0].Int(d.Start)
	if !ok {
		return 0, false
	}
	if to, ok := k.threads[1].Int(d.End); ok && from == to {
		return int32(from), true
	}
	if key.Numeric() && from == key.Int() {
		return int32(from), true
	}
	return 0, false
}
