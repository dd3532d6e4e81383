package plan

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/source/reading"
)

// Records makes events of side records: of programs and symbols of the kernel that come and
// go, and of new cgroups. Or it makes an event for each thread that exists when the run
// begins, at the time of the first event; a thread that sleeps during the whole run has no
// other event.
type Records struct {
	// Carrier is an event without occurrences, opened for the side records in its ring;
	// nil for threads.
	Carrier *Source
}

// Inputs implements Stream.
func (*Records) Inputs() []Stream { return nil }

// A RecordOp is the operator that Build makes of a Records.
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

// A RecordSet is a RecordOp that runs. The session makes its events.
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

// TellsOfKernel reports that some Records takes side records of the kernel.
func (p *Plan) TellsOfKernel() bool {
	return slices.ContainsFunc(Of[*RecordOp](p), func(op *RecordOp) bool { return !op.Threads })
}

func (*RecordOp) ofOneMachine() (what, why string) { return "records", "they are of one machine" }
