package session

import (
	"errors"
	"fmt"
	"time"

	"ppscript/bpf"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/plan/placement"
	"ppscript/runtime/record/sent"
	"ppscript/runtime/source/perf"
)

// This file runs the programs in the kernel that send events in place of perf.
// Such a program sends a projected record, which has only the fields that the
// plan reads.

// errProjection wraps an error of these programs. The plan may still run
// without them.
type errProjection struct{ error }

func (e *errProjection) Unwrap() error { return e.error }

// send loads the programs of a plan, and changes the events of cfg to read their
// projected records.
func (w *env) send(p *plan.Plan, cfg *perf.Config) (*load.Run, error) {
	im := sending(p)
	run, err := w.load(im)
	if err != nil {
		return nil, &errProjection{err}
	}
	for i := range cfg.Events {
		if cfg.Events[i].Projection = im.Projection(i); cfg.Events[i].Projection == nil {
			cfg.Events[i].Projection = &sent.Projection{} // a program handles the event and sends no record
		}
		if im.SendsStacks() {
			cfg.Events[i].Projection.Stacks = func(hash []byte) []uint64 { return load.Chain(run, hash) }
		}
		cfg.Events[i].Filter, cfg.Events[i].NoRaw = "", false
	}
	run.Places = cfg.Events
	records, _ := im.Records()
	sent.FindLong(records, func(hash []byte) []byte { return load.LongText(run, hash) })
	projected := func(err error) error {
		if err != nil {
			return &errProjection{err}
		}
		return nil
	}
	cfg.Programs = perf.Programs{
		Records: records,
		Buffer: func(cpu, size, wake int) (int, error) {
			fd, err := run.Buffer(cpu, size, wake)
			return fd, projected(err)
		},
		Attach: func(root int) error {
			im.Target.Root = root
			return projected(errors.Join(run.Attach(im.Target), load.Begin(run)))
		},
		Detach: run.Stop,
		Wake:   run.Wake,
		Prompt: im.KeptLayout() != nil, // the kept events of a pair are overwritten soon
		Untold: run.Untold, Late: run.Late,
	}
	return run, nil
}

// sending returns the programs that send the plan's events; nil if there are
// none.
func sending(p *plan.Plan) *bpf.Image {
	switch {
	case p.Projection != nil:
		return p.Projection.Image
	case p.Kernel.Sends():
		return p.Kernel.Image
	}
	return nil
}

// programs connects joins with the programs that do their work in the kernel,
// so that the joins can read the state there.
func programs(r *run) {
	k, in := r.plan.Kernel, r.instance
	if k == nil {
		return
	}
	p := &joinPrograms{of: r, image: k.Image, run: r.env.sender, streams: in.Streams()}
	if r.in.kernel != nil {
		p.run = r.in.kernel.run
	}
	for _, e := range r.plan.Events {
		p.events = append(p.events, in.Stream(e.Stream))
	}
	in.Programs = p
}

// withoutProjection rebuilds the plan without programs that send events if err is an
// error of these; nil if it is not, or if the plan must have them.
func (w *env) withoutProjection(p *plan.Plan, err error) *plan.Plan {
	var e *errProjection
	if !errors.As(err, &e) || sending(p) == nil || w.noProjection != "" {
		return nil
	}
	final := w.cfg.Options.Reading.Engine == placement.EngineBPF
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

// collectSent returns the losses since the last call in programs that send events or filter
// samples. It also adds the counts of these programs to the tables.
func (r *run) collectSent() (event.Loss, error) {
	lost, err := r.env.sieves.Loss()
	if err != nil {
		return lost, err
	}
	switch k := r.plan.Kernel; {
	case r.env.sender == nil:
		return lost, nil
	case k.Sends():
		l, err := (&collector{run: r}).collect(r.env.sender, nil)
		lost.Add(l)
		return lost, err
	}
	l, err := r.env.sender.Loss()
	lost.Add(l.Joins)
	return lost, err
}

// lookAtSent reads the mappings of processes whose first stack was sent, while they exist.
func lookAtSent(r *run) error {
	if !sendsStacks(r) {
		return nil
	}
	return r.env.quiet.look(r.stacks, r.env.sender)
}

// sendsStacks reports that programs send stacks.
func sendsStacks(r *run) bool {
	return r.env.sender != nil && (r.instance.HoldsStacks() || sending(r.plan).SendsStacks())
}

// sweep removes ended processes from the set of traced processes when that is
// due.
func (w *env) sweep() error {
	if now := time.Now(); w.sender != nil && now.Sub(w.swept) >= w.sender.NextSweep(sweepTime) {
		w.swept = now
		return w.sender.Sweep()
	}
	return nil
}

// describeSender lists the programs and their hooks.
func (w *env) describeSender(p *plan.Plan) {
	if w.sender == nil {
		return
	}
	does := "sends projected records"
	if p.Kernel.Sends() {
		does = "relates and counts events, and sends what matches"
	}
	for i := range sending(p).Programs {
		prog := &sending(p).Programs[i]
		w.msgs.verbose(1, fmt.Sprintf("bpf: %s %s, %s, %d instructions", prog.Label, does,
			prog.Where(), len(prog.Ins)))
	}
}
