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
type errCompact struct{ error }

func (e *errCompact) Unwrap() error { return e.error }

// send loads the programs of a plan, and has cfg's events read their compact records.
func (w *world) send(p *plan.Plan, cfg *perf.Config) (*bpf.Run, error) {
	im := p.Compact.Image
	run, err := w.load(im)
	if err != nil {
		return nil, &errCompact{err}
	}
	for i := range cfg.Events {
		cfg.Events[i].Compact = im.Compact(i)
		cfg.Events[i].Filter, cfg.Events[i].NoRaw = "", false
	}
	compact := func(err error) error {
		if err != nil {
			return &errCompact{err}
		}
		return nil
	}
	cfg.Programs = perf.Programs{
		Buffer: func(cpu, size, wake int) (int, error) {
			fd, err := run.Buffer(cpu, size, wake)
			return fd, compact(err)
		},
		Attach: func(root int) error {
			im.Target.Root = root
			return compact(run.Attach(im.Target))
		},
		Detach: run.Stop,
		Untold: run.Untold,
	}
	return run, nil
}

// uncompact is the plan without programs that send events, after err; nil if
// it must have them.
func (w *world) uncompact(p *plan.Plan, err error) *plan.Plan {
	var e *errCompact
	if !errors.As(err, &e) || p.Compact == nil || w.noCompact != "" {
		return nil
	}
	final := w.cfg.Options.Engine == plan.EngineBPF
	if final || w.cfg.Options.Verbose > 0 {
		w.sayRejected(err)
	}
	if final {
		return nil
	}
	w.noCompact = "the kernel refused the programs"
	again, buildErr := plan.Build(w.cfg.Reports, w.env(w.cfg))
	if buildErr != nil {
		return nil
	}
	if w.cfg.Options.Verbose > 0 {
		w.say("the kernel refused the programs that send events, it sends whole records: %v", err)
	}
	return again
}

// sent returns the losses of the programs that send events, since the last call.
func (r *run) sent() (event.Loss, error) {
	if r.world.sender == nil {
		return event.Loss{}, nil
	}
	l, err := r.world.sender.Loss()
	return l.Joins, err
}

// sweep cleans the set of traced processes, now and then.
func (r *run) sweep() error {
	if now := time.Now(); r.world.sender != nil && now.Sub(r.swept) > sweepTime {
		r.swept = now
		return r.world.sender.Sweep()
	}
	return nil
}

// describeSender lists the programs and their hooks.
func (r *run) describeSender() {
	if r.world.sender == nil {
		return
	}
	for i := range r.plan.Compact.Image.Programs {
		p := &r.plan.Compact.Image.Programs[i]
		r.verbose(1, fmt.Sprintf("bpf: %s sends compact records, %s, %d instructions", p.Label,
			p.Where(), len(p.Ins)))
	}
}
