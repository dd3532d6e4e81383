package sent

import (
	"encoding/binary"

	"ppscript/runtime/event"
)

// This file reads the two events between which what a fold emits lies: the one with which
// its state began, and the one at hand. In a record that is a head for each, and then the
// fields of each:
//
//	u64 event    1 and its index in perf.Config.Events; 0 is none
//	u64 time     CLOCK_MONOTONIC, ns
//	u64 task     process in the upper half, thread in the lower
//	u64 context  as in a pair (pair.go)
//	u64 stack    its number, of programs; 0 is none

// The places in a head.
const (
	AroundEvent   = 0
	AroundTime    = 8
	AroundTask    = 16
	AroundContext = 24
	AroundStack   = 32
	AroundHead    = 40
)

// Around says where the two events are in a record of what a fold emits.
type Around struct {
	At   int // of the heads
	Room int // of the fields of one event
	// Events say how the sent fields become the record of an event, by its index in
	// perf.Config.Events; nil is none that the fold takes.
	Events []*Projection
}

// arounds shows the two events.
type arounds struct {
	*Around
	streams []*event.Stream
	records []*Records
}

// newArounds makes what shows them; streams are those of perf.Config.Events.
func newArounds(a *Around, streams []*event.Stream) *arounds {
	if a == nil {
		return nil
	}
	s := &arounds{Around: a, streams: streams, records: make([]*Records, len(a.Events))}
	for i, p := range a.Events {
		if p != nil {
			s.records[i] = NewRecords(p)
		}
	}
	return s
}

// A part is the memory of one of the two events. Its stack, if it has one, is in a slot.
type part struct {
	event   event.Event
	derived event.Derived
	stack   [1]event.Value
}

// show makes two events those of a record, and d an event between them. If the first is
// not known, it is between none.
func (s *arounds) show(parts []part, d *event.Derived, e *event.Event, sent []byte) bool {
	for i := range parts {
		p := &parts[i]
		head := sent[s.At+i*AroundHead:]
		u64 := binary.LittleEndian.Uint64
		at := int(u64(head[AroundEvent:])) - 1
		if at < 0 {
			return true
		}
		if at >= len(s.records) || s.records[at] == nil {
			return false
		}
		raw := s.records[at].Show(sent[s.At+2*AroundHead+i*s.Room:])
		if raw == nil {
			return false
		}
		task, context := u64(head[AroundTask:]), u64(head[AroundContext:])
		p.event = event.Event{Kind: event.Sample, Time: event.Time(u64(head[AroundTime:])),
			PID: int32(task >> 32), TID: int32(task), CPU: int32(uint32(context)), Ring: e.Ring,
			Stream: s.streams[at], Raw: raw}
		p.event.Rec = s.records[at].beside(sent[s.At+2*AroundHead+i*s.Room:], nil)
		common(raw, s.streams[at].Schema, task, context)
		if stack := u64(head[AroundStack:]); stack != 0 {
			p.stack[0] = event.UintOf(stack)
			p.derived.Slots = p.stack[:]
			p.event.Derived = &p.derived
		}
	}
	d.Start, d.End = &parts[0].event, &parts[1].event
	return true
}

// release gives the memory of all events back.
func (s *arounds) release() {
	for _, r := range s.records {
		if r != nil {
			r.Release()
		}
	}
}
