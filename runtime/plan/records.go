package plan

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/source/reading"
)

// Records are events that nobody sends: what the kernel tells of itself, programs and symbols
// that come and go, cgroups that are made; or the threads that are there when the run begins,
// at the time of the first event. A thread that sleeps all the time has no other.
type Records struct {
	// Carrier is an event without occurrences, in whose ring records of the kernel come;
	// nil if it is threads.
	Carrier *Source
}

// Inputs implements Stream.
func (*Records) Inputs() []Stream { return nil }

// A RecordOp is one Records of a plan.
type RecordOp struct {
	operator
	Threads bool
	stream  *event.Stream
}

func (op *RecordOp) deliver(h Host) Delivery {
	if op.Threads {
		return h.Threads()
	}
	return h.KernelRecords()
}

func (*RecordOp) inKernel() (graph.Work, string) { return graph.Work{}, "records are read" }
func (*RecordOp) notSent() string                { return notOnlyTracepoints }

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

func (k *Records) branches(b *builder) ([]branch, error) {
	op, schema := &RecordOp{Threads: k.Carrier == nil}, reading.RecordSchema()
	if op.Threads {
		schema = reading.ThreadSchema()
	} else if !b.env.Replay {
		if _, err := k.Carrier.branches(b); err != nil {
			return nil, err
		}
	}
	op.stream = b.madeStream(schema)
	b.plan.add(op)
	return []branch{{root: op, stream: op.stream.Index, scope: b.scope(nil, schema)}}, nil
}

// TellsOfKernel reports that records of the kernel are asked for.
func (p *Plan) TellsOfKernel() bool {
	return slices.ContainsFunc(Of[*RecordOp](p), func(op *RecordOp) bool { return !op.Threads })
}

func (*RecordOp) ofOneMachine() (what, why string) { return "records", "they are of one machine" }
