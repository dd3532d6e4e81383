package sent

import (
	"encoding/binary"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file reads kept events: records that programs do not send, but keep in a flight buffer of
// the CPU, where the newest overwrite the oldest. They are read only if the events before a
// moment are needed. All records have the same size; record n of a CPU is at index n modulo
// KeptLayout.Records:
//
//	u64 mark     n + 1, written last: before that, the record is not whole
//	u64 time     CLOCK_MONOTONIC, ns
//	u64 task     process in the upper half, thread in the lower
//	u64 context  1 and the index in perf.Config.Events, 16 bits; the number of the join that
//	             the event is kept for, 16 bits; above that common_flags and the like
//
// and goes on with the columns of its event.

// Offsets in a kept record, and the size of its head.
const (
	KeptMark    = 0
	KeptTime    = 8
	KeptTask    = 16
	KeptContext = 24
	KeptSize    = 32
)

// KeptJoin is the position of the join's number in a context, in bits.
const KeptJoin = 16

// KeptFor returns the time of a kept event, and the number of the join for which it
// is kept.
func KeptFor(rec []byte) (at event.Time, join int) {
	return event.Time(binary.LittleEndian.Uint64(rec[KeptTime:])),
		int(binary.LittleEndian.Uint16(rec[KeptContext+KeptJoin/8:]))
}

// KeptLayout describes the records that programs keep.
type KeptLayout struct {
	Records int // number of records of each CPU, a power of two
	Size    int // of a record
	// Inputs are the columns of each event, by index in perf.Config.Events; nil if the event is
	// not kept.
	Inputs [][]Column
}

// keptColumns are the columns that all kept records have.
var keptColumns = []Column{{Origin: Time, Off: KeptTime, Size: 8}, {Origin: Task, Off: KeptTask, Size: 8},
	{Origin: Context, Off: KeptContext, Size: 8}, {Origin: Source, Off: KeptContext, Size: 2}}

// A KeptReader converts kept records to events.
type KeptReader struct {
	part   *part
	memory parts // of one event
	hashes arena
}

// NewKeptReader returns a reader of kept records as events of streams.
func NewKeptReader(k *KeptLayout, streams []*event.Stream) *KeptReader {
	return &KeptReader{part: newPart(&Part{Inputs: k.Inputs}, expr.Self, keptColumns, streams),
		memory: parts{events: make([]event.Event, 1)}}
}

// Show sets e to the event of a CPU's kept record; false if the record is invalid. e
// belongs to no ring. Its memory is valid until Release.
func (r *KeptReader) Show(e *event.Event, cpu int, rec []byte) bool {
	known, ok := r.part.show(nil, &event.Event{Ring: -1}, &r.memory, 0, rec, 0)
	if !known || !ok {
		return false
	}
	*e = r.memory.events[0]
	e.CPU = int32(cpu)
	if hash := e.Rec; len(hash) == StackKey {
		e.Rec = r.hashes.take(StackKey)
		copy(e.Rec, hash)
	}
	return true
}

// Release frees the memory of all events.
func (r *KeptReader) Release() {
	r.hashes.release()
	r.part.release()
}
