// Package flow passes events from one operator to the next: it has Sinks, which
// take slices of events, and the small operators without state (Where, Fan,
// Router). Grouping and joining are packages of their own.
//
// Plan builds the operators, session feeds the first one. A slice of events
// and everything in it are views that die when Events returns.
package flow

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// A Sink takes events.
type Sink interface {
	// Events takes samples in the order of the flow. The slice may be
	// changed by the callee, the events may not.
	Events(evs []*event.Event)

	// Lost says that n events of a ring were lost before the next ones of
	// that ring; t is when the loss began. State that spans it is suspect.
	Lost(ring int32, n uint64, t event.Time)
}

// A Fn is a per-event function, compiled for every stream that can arrive.
type Fn struct {
	one  *expr.Program
	each []*expr.Program // by Stream.Index
}

// NewFn returns the function of the given programs, indexed by stream. Nil
// entries are streams that do not arrive, or that the function does not apply
// to; sole is the index of the only stream that arrives, -1 if there are more.
func NewFn(each []*expr.Program, sole int) *Fn {
	f := &Fn{each: each}
	if sole >= 0 {
		f.one = each[sole]
	}
	return f
}

// For returns the program for e; nil if the function does not apply to its
// stream.
func (f *Fn) For(e *event.Event) *expr.Program {
	// Fast path: one stream arrives.
	if f.one != nil {
		return f.one
	}
	return f.each[e.Stream.Index]
}

// Several reports that streams arrive that the function does not apply to, so
// that For must look at the stream.
func (f *Fn) Several(several bool) *Fn {
	if several {
		f.one = nil
	}
	return f
}

// At returns the program of a stream, by index.
func (f *Fn) At(stream int) *expr.Program { return f.each[stream] }

// One returns the program if one stream arrives, else nil.
func (f *Fn) One() *expr.Program { return f.one }

// Each calls fn for every program.
func (f *Fn) Each(fn func(p *expr.Program)) {
	for _, p := range f.each {
		if p != nil {
			fn(p)
		}
	}
}

// Find returns a program for which fn is true, nil if there is none.
func (f *Fn) Find(fn func(p *expr.Program) bool) *expr.Program {
	for _, p := range f.each {
		if p != nil && fn(p) {
			return p
		}
	}
	return nil
}

// Any returns one of the programs, for example to read the type that all share.
func (f *Fn) Any() *expr.Program {
	if f.one != nil {
		return f.one
	}
	for _, p := range f.each {
		if p != nil {
			return p
		}
	}
	return nil
}

// Errors counts evaluations that failed and keeps the first one. A failed
// evaluation drops the event from its operator, never the run.
type Errors struct {
	N     uint64
	First error
}

// Note counts the frame's error and clears it.
func (x *Errors) Note(f *expr.Frame) {
	x.N++
	if x.First == nil {
		x.First = f.Err
	}
	f.Err = nil
}

// Absorb moves the counts of o to x.
func (x *Errors) Absorb(o *Errors) {
	x.N += o.N
	if x.First == nil {
		x.First = o.First
	}
	*o = Errors{}
}
