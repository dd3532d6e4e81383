package plan

import (
	"strconv"

	"ppscript/runtime/event"
	"ppscript/runtime/flow"
	"ppscript/runtime/placement"
)

// KernelRecords is what the kernel tells of itself beside events: programs and
// symbols that come and go, cgroups that are made.
type KernelRecords struct {
	// Carrier is an event without occurrences, in whose ring the records come.
	Carrier *Source
}

// Inputs implements Stream.
func (*KernelRecords) Inputs() []Stream { return nil }

// Slots of such an event.
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

// A RecordOp is the records of one KernelRecords.
type RecordOp struct {
	operator
	stream *event.Stream
}

func (*RecordOp) inKernel() (placement.Work, string) {
	return placement.Work{}, "records of the kernel are read"
}
func (*RecordOp) notSent() string { return notOnlyTracepoints }

// A RecordSet is a RecordOp that runs: the session makes its events.
type RecordSet struct {
	running
	outlet
	Stream *event.Stream
}

func (op *RecordOp) instantiate(in *Instance) Running {
	return &RecordSet{Stream: in.Stream(op.stream)}
}

func (op *RecordOp) emitter(in *Instance) emitter { return in.runs[op].(*RecordSet) }

// Sink takes the events that the session makes.
func (r *RecordSet) Sink() flow.Sink { return &r.next }

// recordText shows what the kind has.
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

func (k *KernelRecords) branches(b *builder) ([]branch, error) {
	if !b.env.Replay {
		if _, err := k.Carrier.branches(b); err != nil {
			return nil, err
		}
	}
	slot := func(i int, name, typ string, kind event.Kind, u event.Unit) event.Field {
		return event.Field{
			Name:   name,
			Type:   typ,
			Kind:   kind,
			Place:  event.InSlot,
			Offset: i,
			Unit:   u,
			Size:   8,
		}
	}
	schema := &event.Schema{System: "kernel", Name: "record", Fields: []event.Field{
		slot(RecordKind, "kind", "char[]", event.Str, event.NoUnit),
		slot(RecordName, "name", "char[]", event.Str, event.NoUnit),
		slot(RecordID, "id", "u64", event.Int, event.NoUnit),
		slot(RecordAddr, "address", "u64", event.Int, event.AddressU),
		slot(RecordSize, "size", "u64", event.Int, event.NoUnit),
		slot(RecordOld, "old", "char[]", event.Str, event.NoUnit),
		slot(RecordNew, "new", "char[]", event.Str, event.NoUnit),
	}}
	schema.Text = recordText
	set := &RecordOp{stream: b.madeStream(schema)}
	b.plan.add(set)
	return []branch{{root: set, stream: set.stream.Index, scope: b.scope(nil, schema)}}, nil
}
