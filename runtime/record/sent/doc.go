// Package sent is what programs of the kernel send: records of events with no more in
// them than somebody reads, pairs that a join made there, events that a fold emits, and
// counts of lost ones. bpf generates the programs that write them, perf reads the
// buffers that they come in, and shows them as events with what is here. It opens
// nothing.
//
// Each record begins with a head:
//
//	u64 time    CLOCK_MONOTONIC, ns
//	u64 task    process in the upper half, thread in the lower
//	s64 stream  index in perf.Config.Events, then of what operators make; or LossStream
//
// and goes on with the fields that Projection lists (projection.go), with those of a
// pair (pair.go), with the values of an emitted event (emitted.go), or with the number of
// lost records.
//
// Readers of events know the places of fields in the event's own record. So an Event
// shows such a record: the sent fields at their places, zeros elsewhere.
package sent

import "ppscript/runtime/event"

// The places in the head, and the sizes of it and of a record of losses.
const (
	HeadTime   = 0
	HeadTask   = 8
	HeadStream = 16
	HeadSize   = 24
	LossSize   = HeadSize + 8
	LossStream = -1
)

// A Stream shows the events of one stream that operators in programs made.
type Stream interface {
	// Show makes e the event of a record; false if that is too short. The time and
	// the CPU of e are there already.
	Show(e *event.Event, rec []byte) bool
	// Release gives the memory of all events back.
	Release()
}
