package plan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/plan/graph"
)

// Each calls a script function for every event, interpreted.
type Each struct {
	In Stream
	Fn Callable
	// Batch, if set, gets slices of events instead.
	Batch Batcher
}

// A Batcher is a script's function that takes a list of events.
type Batcher interface {
	// Bind comes first: the events that can arrive.
	Bind(events []*expr.Scope)
	// CallBatch calls the function; the events die with the call.
	CallBatch(evs []*event.Event) error
}

// Input implements Report.
func (x *Each) Input() Stream { return x.In }

// An EachOp calls a script function for every event.
type EachOp struct {
	operator
	Spec *Each
}

// An EachRun is an EachOp that runs.
type EachRun struct {
	running
	flow.Calls
}

func (x *Each) build(b *builder) error {
	brs, err := b.branchesOf(x.In)
	if err != nil {
		return err
	}
	if x.Batch != nil {
		scopes := make([]*expr.Scope, len(brs))
		for i := range brs {
			scopes[i] = brs[i].scope
		}
		x.Batch.Bind(scopes)
		b.machines = append(b.machines, x.Batch)
	} else {
		if err := (Fn{Call: x.Fn}).check(brs); err != nil {
			return err
		}
		b.calls = append(b.calls, x.Fn)
	}
	op := &EachOp{Spec: x}
	b.plan.add(op)
	b.feed(feed{op: op, name: b.names.next("each")}, brs)
	return nil
}

func (op *EachOp) instantiate(*Instance) Running {
	run := &EachRun{}
	if b := op.Spec.Batch; b != nil {
		run.Batch = b.CallBatch
	} else {
		run.Call = op.Spec.Fn.Call
	}
	return run
}

func (x *EachRun) sink(int) flow.Sink { return x }

func (op *EachOp) needs(b *builder, n *need) {
	n.Order("a script function sees events in time order")
	readerOfStack(b, op.Spec.In, op.Spec.Fn)
}

func (*EachOp) sees() sight { return sight{key: true, starts: true} }
func (*EachOp) deliver(h Host) Delivery {
	return connection(func(r Running) error {
		r.(*EachRun).Stop = h.Fail
		return nil
	})
}

func (*EachOp) ofOneMachine() (what, why string) { return "", actsHere }

func (*EachOp) inKernel() (graph.Work, string) {
	return graph.Work{}, "a script function sees every event"
}
