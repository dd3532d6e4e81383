package plan

import (
	"fmt"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/silence"
	"ppscript/runtime/plan/graph"
)

// Burst keeps the events of busy times: those from the Count-th on that come
// within WithinNS of the first, by key. The first event after that time begins
// another window.
type Burst struct {
	In       Stream
	Count    int64
	WithinNS int64
	By       *Fn // the key, a number; nil is the instance
}

// Inputs implements Stream.
func (w *Burst) Inputs() []Stream { return []Stream{w.In} }

// A burstOp is the operator that Build makes of a Burst.
type burstOp struct {
	step
	spec *Burst
}

// A burstRun is a burstOp with the state of one run.
type burstRun struct {
	running
	silence.Bursts
}

func (w *Burst) branches(b *builder) ([]branch, error) {
	brs, err := b.branchesOf(w.In)
	if err != nil {
		return nil, err
	}
	by := Fn{Text: InstanceName}
	if w.By != nil {
		by = *w.By
	}
	if err := by.check(brs); err != nil {
		return nil, err
	}
	op := &burstOp{spec: w}
	b.plan.add(op)
	for i := range brs {
		br := &brs[i]
		key, err := b.compile(by, br, expr.Int)
		if err != nil {
			return nil, err
		}
		br.preds = append(br.preds[:len(br.preds):len(br.preds)],
			&graph.Pred{Text: "burst", Prog: placeholder("burst"), State: busyKey{op, key}})
	}
	return brs, nil
}

// busyKey holds the newest events of one key, until it is known whether their
// window is busy.
type busyKey struct {
	op  *burstOp
	key *expr.Program
}

func (x busyKey) program(in *Instance) *expr.Program {
	run := in.runs[x.op].(*burstRun)
	busy := func(f *expr.Frame, _ []expr.Arg) int64 {
		if k := x.key.Int(f); f.Err == nil && run.Busy(k, f.Event.Time) {
			return 1
		}
		return 0
	}
	return expr.Build(&expr.Native{Name: "burst", T: expr.TBool, Effect: true, HostOnly: remembersHere,
		Int: busy})
}

func (op *burstOp) instantiate(*Instance) Running {
	return &burstRun{Bursts: silence.Bursts{Count: op.spec.Count, Within: event.Time(op.spec.WithinNS)}}
}

func (*burstOp) needs(_ *builder, n *need) { n.Order("burst: events are counted over time") }

// Loss implements Running.
func (r *burstRun) Loss() event.Loss { return r.Bursts.Loss() }

// State implements Running.
func (r *burstRun) State() []string { return []string{fmt.Sprintf("burst: %d keys", r.Len())} }
