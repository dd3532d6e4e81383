package plan

import (
	"fmt"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// Burst keeps the events of busy times: those from the Count-th on that come
// within WithinNS of the first, by key. The first event after that time begins
// another window.
type Burst struct {
	In       Stream
	Count    int64
	WithinNS int64
	By       *Fn // a number; nil is the instance
}

// Inputs implements Stream.
func (w *Burst) Inputs() []Stream { return []Stream{w.In} }

// A burstOp is a Burst of a plan.
type burstOp struct {
	operator
	spec *Burst
}

// A burstRun is a burst that runs.
type burstRun struct {
	running
	spec    *Burst
	windows map[int64]window
	evicted uint64 // windows that were forgotten before their time
}

// A window is where a key is.
type window struct {
	start event.Time
	n     int64
}

// maxWindows bounds the keys; beyond it all begin anew, and are counted as evicted.
const maxWindows = 1 << 16

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
			&pred{"burst", stands("burst"), busyKey{op, key}})
	}
	return brs, nil
}

// busyKey keeps the events of the busy times of a key.
type busyKey struct {
	op  *burstOp
	key *expr.Program
}

func (x busyKey) program(in *Instance) *expr.Program {
	run := in.runs[x.op].(*burstRun)
	busy := func(f *expr.Frame, _ []expr.Arg) int64 {
		if k := x.key.Int(f); f.Err == nil && run.busy(k, f.Event.Time) {
			return 1
		}
		return 0
	}
	return expr.Build(&expr.Native{Name: "burst", T: expr.TBool, Effect: true, Int: busy})
}

func (op *burstOp) instantiate(*Instance) Running {
	return &burstRun{spec: op.spec, windows: map[int64]window{}}
}

// busy counts an event of a key, and reports that it is one of a busy time.
func (r *burstRun) busy(key int64, at event.Time) bool {
	x, known := r.windows[key]
	if !known || at-x.start >= event.Time(r.spec.WithinNS) || at < x.start {
		if !known && len(r.windows) >= maxWindows {
			r.evicted += uint64(len(r.windows))
			clear(r.windows)
		}
		x = window{start: at}
	}
	x.n++
	r.windows[key] = x
	return x.n >= r.spec.Count
}

func (*burstOp) needs(_ *builder, n *need) { n.Order("burst: events are counted over time") }

// Loss implements Running.
func (r *burstRun) Loss() event.Loss {
	n := r.evicted
	r.evicted = 0
	return event.Loss{Evicted: n}
}

// State implements Running.
func (r *burstRun) State() []string { return []string{fmt.Sprintf("burst: %d keys", len(r.windows))} }
