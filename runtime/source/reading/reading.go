// Package reading has the schemas of events that ppscript makes from what it reads: values
// of counters, the threads that exist when a run begins, and side records of the kernel (new
// symbols, programs and cgroups, and changes of its code). The plan makes streams with these
// schemas, and the session makes the events.
package reading

import (
	"strconv"

	"ppscript/runtime/event"
)

// Slots of a counter's event.
const (
	CounterName = iota
	CounterValue
	CounterCPU
	CounterThread
	CounterEnabled
	CounterRunning
	CounterOrder
	CounterRun
	CounterSlots
)

// CounterSchema is the schema of a read of a counter. The value, enabled and
// running are differences to the previous read.
func CounterSchema() *event.Schema {
	return &event.Schema{System: "counter", Name: "counter", Fields: []event.Field{
		slot(CounterName, "event", "char[]", event.Str, event.NoUnit, true),
		slot(CounterValue, "value", "u64", event.Int, event.NoUnit, true),
		slot(CounterCPU, "cpu", "int", event.Int, event.NoUnit, true),
		slot(CounterThread, "tid", "int", event.Int, event.NoUnit, true),
		slot(CounterEnabled, "enabled", "u64", event.Int, event.Nanos, true),
		slot(CounterRunning, "running", "u64", event.Int, event.Nanos, true),
		slot(CounterOrder, "order", "int", event.Int, event.NoUnit, true),
		slot(CounterRun, "run", "int", event.Int, event.NoUnit, true),
	}}
}

// Slots of the event of a record of the kernel.
const (
	RecordKind = iota
	RecordName
	RecordID
	RecordAddr
	RecordSize
	RecordOld
	RecordNew
	RecordSlots
)

// RecordSchema is the schema of a side record of the kernel.
func RecordSchema() *event.Schema {
	schema := &event.Schema{System: "kernel", Name: "record", Fields: []event.Field{
		slot(RecordKind, "kind", "char[]", event.Str, event.NoUnit, false),
		slot(RecordName, "name", "char[]", event.Str, event.NoUnit, false),
		slot(RecordID, "id", "u64", event.Int, event.NoUnit, false),
		slot(RecordAddr, "address", "u64", event.Int, event.AddressU, false),
		slot(RecordSize, "size", "u64", event.Int, event.NoUnit, false),
		slot(RecordOld, "old", "char[]", event.Str, event.NoUnit, false),
		slot(RecordNew, "new", "char[]", event.Str, event.NoUnit, false),
	}}
	schema.Text = recordText
	return schema
}

// Slots of the event of a thread.
const (
	ThreadTID = iota
	ThreadPID
	ThreadComm
	ThreadSlots
)

// ThreadSchema is the schema of a thread that exists when a run begins.
func ThreadSchema() *event.Schema {
	return &event.Schema{System: "thread", Name: "thread", Fields: []event.Field{
		slot(ThreadTID, "tid", "int", event.Int, event.NoUnit, true),
		slot(ThreadPID, "pid", "int", event.Int, event.NoUnit, true),
		slot(ThreadComm, "comm", "char[]", event.Str, event.NoUnit, false),
	}}
}

// recordText appends the fields that the record's kind has.
func recordText(dst []byte, e *event.Event) []byte {
	v := e.Derived.Slots
	dst = append(append(append(append(dst, "kind="...), v[RecordKind].String()...), " name="...),
		v[RecordName].String()...)
	if id := v[RecordID].Int(); id != 0 {
		dst = strconv.AppendInt(append(dst, " id="...), id, 10)
	}
	if addr := v[RecordAddr].Int(); addr != 0 {
		dst = strconv.AppendUint(append(dst, " address=0x"...), uint64(addr), 16)
		dst = strconv.AppendInt(append(dst, " size="...), v[RecordSize].Int(), 10)
	}
	if code := v[RecordNew].String(); code != "" {
		dst = append(append(append(append(dst, " old="...), v[RecordOld].String()...), " new="...), code...)
	}
	return dst
}

func slot(i int, name, typ string, kind event.Kind, u event.Unit, signed bool) event.Field {
	return event.Field{
		Name:   name,
		Type:   typ,
		Kind:   kind,
		Place:  event.InSlot,
		Offset: i,
		Unit:   u,
		Signed: signed,
		Size:   8,
	}
}
