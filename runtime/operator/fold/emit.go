package fold

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
)

// batch is how many emitted events are handed on at once, at least.
const batch = 256

// emitBuffer collects the events that the functions emit until they are handed on.
type emitBuffer struct {
	stream   *event.Stream
	make     []func(bits int64) event.Value // by field; nil is a text
	events   []event.Event
	deriveds []event.Derived
	slots    []event.Value
	ptrs     []*event.Event
	texts    event.Strings
	stacks   []func(e *event.Event) uint64
	// subject is the key of an event, if it is wanted.
	subject func(e *event.Event) event.Value

	start, end *event.Event // parts of the events emitted now; nil without Spec.Begin
	parts      []parts      // by emitted event, if any has parts
	kept       []*event.Event
}

// parts has the events at which a state began and ended. The start is a copy,
// since the row may get the next one before the batch is handed on.
type parts struct{ start, end *event.Event }

// from sets the parts of the event that was just emitted.
func (o *emitBuffer) from() {
	n := len(o.events)
	for len(o.kept) < n {
		o.kept = append(o.kept, new(event.Event))
	}
	for len(o.parts) < n {
		o.parts = append(o.parts, parts{})
	}
	if o.start == nil || o.start.Stream == nil {
		return
	}
	o.start.Keep(o.kept[n-1])
	o.parts[n-1] = parts{o.kept[n-1], o.end}
}

func (o *emitBuffer) init(st *event.Stream, stacks []func(e *event.Event) uint64) {
	o.stream, o.stacks = st, stacks
	if st == nil {
		return
	}
	fields := st.Schema.Fields
	if stacks != nil {
		fields = fields[:len(fields)-1] // the last is not given to emit
	}
	for i := range fields {
		var number func(bits int64) event.Value
		if f := &fields[i]; f.Kind == event.Int || f.Kind == event.Float {
			number = f.Maker()
		}
		o.make = append(o.make, number)
	}
}

// stack is the number of the stack of an event; 0 is none.
func (o *emitBuffer) stack(e *event.Event) uint64 {
	if e.Stream == nil || e.Stream.Index >= len(o.stacks) || o.stacks[e.Stream.Index] == nil {
		return 0
	}
	return o.stacks[e.Stream.Index](e)
}

// emit is the frame's Emit: it makes an event with the time and CPU of the
// event that is being handled.
func (o *emitBuffer) emit(f *expr.Frame, _ int, args []expr.Arg) {
	if o.stream == nil || len(args) != len(o.make) {
		f.Fail(expr.ErrMissing)
		return
	}
	e := f.Event
	o.events = append(o.events, event.Event{
		Time: e.Time, Stream: o.stream, PID: e.PID, TID: e.TID, CPU: e.CPU, Ring: e.Ring,
	})
	if o.start != nil {
		o.from()
	}
	for i, a := range args {
		if number := o.make[i]; number != nil {
			o.slots = append(o.slots, number(a.I))
		} else {
			o.slots = append(o.slots, event.StrOf(o.texts.Of(a.S)))
		}
	}
	if o.stacks != nil {
		o.slots = append(o.slots, event.UintOf(o.stack(e)))
	}
	if o.subject != nil {
		o.slots = append(o.slots, o.subject(e))
	}
}

// flush hands the events on. It sets their slots only now, since the slices
// move while they grow.
func (o *emitBuffer) flush(next flow.Sink, stats *Stats) {
	n := len(o.events)
	if n == 0 {
		return
	}
	stats.Emitted += uint64(n)
	for len(o.deriveds) < n {
		o.deriveds = append(o.deriveds, event.Derived{})
	}
	o.ptrs = o.ptrs[:0]
	width := len(o.slots) / n
	for i := range n {
		o.deriveds[i] = event.Derived{Slots: o.slots[i*width : (i+1)*width : (i+1)*width]}
		if i < len(o.parts) {
			o.deriveds[i].Start, o.deriveds[i].End = o.parts[i].start, o.parts[i].end
		}
		o.events[i].Derived = &o.deriveds[i]
		o.ptrs = append(o.ptrs, &o.events[i])
	}
	next.Events(o.ptrs)
	o.events, o.slots, o.parts = o.events[:0], o.slots[:0], o.parts[:0]
}
