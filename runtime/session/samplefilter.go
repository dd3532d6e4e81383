package session

import (
	"context"
	"errors"

	"ppscript/bpf"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/perf"
	"ppscript/runtime/plan"
)

// sieves are programs that decide about samples. They are kept for what they count.
type sieves []*load.Run

// loss returns the samples about which they could not decide, since the last call.
func (s sieves) loss() (event.Loss, error) {
	var lost event.Loss
	for _, run := range s {
		l, err := run.Loss()
		if err != nil {
			return lost, err
		}
		lost.Add(l.Joins)
	}
	return lost, nil
}

func (s *sieves) close() error {
	var errs []error
	for _, run := range *s {
		errs = append(errs, run.Close())
	}
	*s = nil
	return errors.Join(errs...)
}

// openFiltered opens the plan's events with the programs that decide about their
// samples.
func (w *env) openFiltered(ctx context.Context, p *plan.Plan) (src *perf.Source, err error) {
	cfg := w.perfConfig(p)
	defer func() {
		if err != nil {
			err = errors.Join(err, w.sieves.close())
		}
	}()
	for i, e := range p.Events {
		if e.SampleFilter == nil {
			continue
		}
		run, err := w.load(e.SampleFilter)
		if err != nil {
			w.sayRejected(err)
			return nil, err
		}
		w.sieves = append(w.sieves, run)
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
