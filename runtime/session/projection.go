package session

import (
	"errors"
	"fmt"
	"time"

	"ppscript/bpf"
	"ppscript/runtime/event"
	"ppscript/runtime/perf"
	"ppscript/runtime/plan"
)

// This file runs the programs that send the events of a plan.

// errCompact is an error of these programs; without them the plan may run.
type errProjection struct{ error }

func (e *errProjection) Unwrap() error { return e.error }

// send loads the programs of a plan, and has cfg's events read their projected records.
func (w *env) send(p *plan.Plan, cfg *perf.Config) (*bpf.Run, error) {
	im := p.Projection.Image
	run, err := w.load(im)
	if err != nil {
		return nil, &errProjection{err}
	}
	for i := range cfg.Events {
		cfg.Events[i].Projection = im.Projection(i)
		cfg.Events[i].Filter, cfg.Events[i].NoRaw = "", false
	}
	projected := func(err error) error {
		if err != nil {
			return &errProjection{err}
		}
		return nil
	}
	cfg.Programs = perf.Programs{
		Buffer: func(cpu, size, wake int) (int, error) {
			fd, err := run.Buffer(cpu, size, wake)
			return fd, projected(err)
		},
		Attach: func(root int) error {
			im.Target.Root = root
			return projected(run.Attach(im.Target))
		},
		Detach: run.Stop,
		Untold: run.Untold,
	}
	return run, nil
}

// withoutProjection is the plan without programs that send events, after err; nil if
// it must have them.
func (w *env) withoutProjection(p *plan.Plan, err error) *plan.Plan {
	var e *errProjection
	if !errors.As(err, &e) || p.Projection == nil || w.noProjection != "" {
		return nil
	}
	final := w.cfg.Options.Reading.Engine == plan.EngineBPF
	if final || w.cfg.Options.Verbose > 0 {
		w.sayRejected(err)
	}
	if final {
		return nil
	}
	w.noProjection = "the kernel refused the programs"
	again, buildErr := plan.Build(w.cfg.Reports, w.env(w.cfg))
	if buildErr != nil {
		return nil
	}
	if w.cfg.Options.Verbose > 0 {
		w.msgs.say("the kernel refused the programs that send events, it sends whole records: %v", err)
	}
	return again
}

// sent returns the losses of the programs that send events, since the last call.
func (w *env) sent() (event.Loss, error) {
	if w.sender == nil {
		return event.Loss{}, nil
	}
	l, err := w.sender.Loss()
	return l.Joins, err
}

// sweep cleans the set of traced processes, now and then.
func (w *env) sweep() error {
	if now := time.Now(); w.sender != nil && now.Sub(w.swept) > sweepTime {
		w.swept = now
		return w.sender.Sweep()
	}
	return nil
}

// describeSender lists the programs and their hooks.
func (w *env) describeSender(p *plan.ProjectionPlan) {
	if w.sender == nil {
		return
	}
	for i := range p.Image.Programs {
		prog := &p.Image.Programs[i]
		w.msgs.verbose(1, fmt.Sprintf("bpf: %s sends projected records, %s, %d instructions", prog.Label,
			prog.Where(), len(prog.Ins)))
	}
}
