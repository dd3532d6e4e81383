package sent

import (
	"encoding/binary"

	"ppscript/runtime/event"
)

// This file reads kept events: records that programs do not send, but keep in memory of
// the CPU that overwrites its oldest, for who asks later what happened. All records have
// the same size; number n of a CPU is at n modulo Kept.Records:
//
//	u64 mark     n + 1, written last: before that, the record is not whole
//	u64 time     CLOCK_MONOTONIC, ns
//	u64 task     process in the upper half, thread in the lower
//	u64 context  the index in perf.Config.Events, 16 bits; the number of the join that the
//	             event is kept for, 16 bits; above that as in a pair
//
// and goes on with the fields that the Projection of its event lists.

// The places in a kept record.
const (
	KeptMark    = 0
	KeptTime    = 8
	KeptTask    = 16
	KeptContext = 24
	KeptSize    = 32
)

// KeptJoin is where a context has the number of the join.
const KeptJoin = 16

// KeptFor tells of a kept record when the event was, and for which join it is kept.
func KeptFor(rec []byte) (at event.Time, join int) {
	return event.Time(binary.LittleEndian.Uint64(rec[KeptTime:])),
		int(binary.LittleEndian.Uint16(rec[KeptContext+KeptJoin/8:]))
}

// Kept is what programs keep.
type Kept struct {
	Records int // of each CPU, a power of two
	Size    int // of a record
	// Events are those in perf.Config.Events; nil entries are not kept.
	Events []*Projection
	// Stacked are those whose fields come behind the hash of the stack.
	Stacked []bool
}

// A KeptReader makes events of kept records.
type KeptReader struct {
	kept    *Kept
	streams []*event.Stream // by event
	records []*Records
	hashes  []byte // of stacks
}

// NewKeptReader makes what shows kept records as events of streams.
func NewKeptReader(k *Kept, streams []*event.Stream) *KeptReader {
	r := &KeptReader{kept: k, streams: streams}
	for _, p := range k.Events {
		if p == nil {
			r.records = append(r.records, nil)
			continue
		}
		r.records = append(r.records, NewRecords(p))
	}
	return r
}

// Show makes e the event of a record of a CPU, of no ring; false if it is none. What it
// shows lives until Release.
func (r *KeptReader) Show(e *event.Event, cpu int, rec []byte) bool {
	u64 := binary.LittleEndian.Uint64
	context, task := u64(rec[KeptContext:]), u64(rec[KeptTask:])
	at := uint16(context)
	if int(at) >= len(r.records) || r.records[at] == nil || r.streams[at] == nil {
		return false
	}
	raw := r.records[at].Show(rec[KeptSize:])
	if raw == nil {
		return false
	}
	st := r.streams[at]
	*e = event.Event{Kind: event.Sample, Time: event.Time(u64(rec[KeptTime:])), PID: int32(task >> 32),
		TID: int32(task), CPU: int32(cpu), Ring: -1, Stream: st, Raw: raw}
	if r.records[at].BesideSize > 0 {
		var hash []byte
		if r.stacked(at) {
			hash = stackOf(rec, KeptSize)
		}
		e.Rec = r.records[at].beside(rec[KeptSize:], hash)
	} else if r.stacked(at) {
		n := len(r.hashes)
		r.hashes = append(r.hashes, stackOf(rec, KeptSize)...)
		e.Rec = r.hashes[n:len(r.hashes):len(r.hashes)]
	}
	common(raw, st.Schema, task, context)
	return true
}

// stacked reports that what is kept of an event has the hash of its stack.
func (r *KeptReader) stacked(at uint16) bool {
	return int(at) < len(r.kept.Stacked) && r.kept.Stacked[at]
}

// Release gives the memory of all events back.
func (r *KeptReader) Release() {
	r.hashes = r.hashes[:0]
	for _, x := range r.records {
		if x != nil {
			x.Release()
		}
	}
}
