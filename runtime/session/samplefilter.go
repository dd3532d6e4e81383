package session

import (
	"context"
	"errors"

	"ppscript/bpf"
	"ppscript/bpf/load"
	"ppscript/runtime/perf"
	"ppscript/runtime/plan"
)

// openFiltered opens the plan's events with the programs that decide about their
// samples. The events keep the programs.
func (w *env) openFiltered(ctx context.Context, p *plan.Plan) (src *perf.Source, err error) {
	cfg := w.perfConfig(p)
	for i, e := range p.Events {
		if e.SampleFilter == nil {
			continue
		}
		run, err := w.load(e.SampleFilter)
		if err != nil {
			w.sayRejected(err)
			return nil, err
		}
		defer func() { err = errors.Join(err, run.Close()) }()
		cfg.Events[i].Program = run.FD(0)
	}
	if sending(p) == nil {
		return perf.Open(ctx, cfg)
	}
	if w.sender, err = w.send(p, &cfg); err != nil {
		return nil, err
	}
	if src, err = perf.Open(ctx, cfg); err != nil {
		err = errors.Join(err, w.sender.Close())
		w.sender = nil
	}
	return src, err
}

// load loads programs.
func (w *env) load(im *bpf.Image) (*load.Run, error) {
	if w.cfg.spoil != nil {
		w.cfg.spoil(im)
	}
	return load.Open(&im.Image)
}

// sayRejected tells the verifier's reason against a program.
func (w *env) sayRejected(err error) {
	var rejected *load.Rejected
	if errors.As(err, &rejected) && rejected.Log != "" {
		w.msgs.say("the kernel's verifier: %s", rejected.Log)
	}
}
