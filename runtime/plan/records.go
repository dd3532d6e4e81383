package plan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/flow"
	"ppscript/runtime/placement"
	"ppscript/runtime/reading"
)

// KernelRecords is what the kernel tells of itself beside events: programs and
// symbols that come and go, cgroups that are made.
type KernelRecords struct {
	// Carrier is an event without occurrences, in whose ring the records come.
	Carrier *Source
}

// Inputs implements Stream.
func (*KernelRecords) Inputs() []Stream { return nil }

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

func (k *KernelRecords) branches(b *builder) ([]branch, error) {
	if !b.env.Replay {
		if _, err := k.Carrier.branches(b); err != nil {
			return nil, err
		}
	}
	schema := reading.RecordSchema()
	set := &RecordOp{stream: b.madeStream(schema)}
	b.plan.add(set)
	return []branch{{root: set, stream: set.stream.Index, scope: b.scope(nil, schema)}}, nil
}
