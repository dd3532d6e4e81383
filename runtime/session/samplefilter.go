package session

import (
	"context"
	"errors"

	"ppscript/bpf"
	"ppscript/bpf/features"
	"ppscript/bpf/load"
	"ppscript/bpf/walk"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/stack/interpreter"
)

// sieves has the programs in the kernel that run at each sample of perf:
// filters of samples, and programs that find functions of interpreted
// languages.
type sieves struct {
	load.Runs                        // the filters
	host         *features.Host      // nil if programs must not run
	interpreters *interpreter.Walker // finds functions of interpreted languages; may be nil
}

// interpreters opens the programs that find functions of Python, Ruby and PHP in stacks; nil
// if the plan needs none.
func (w *env) interpreters(p *plan.Plan) *interpreter.Walker {
	if w.rec.file != nil || !p.Mappings || w.cfg.Target.Workload == nil && !interpreter.Runs() {
		return nil
	}
	var err error
	if w.sieves.interpreters, err = interpreter.Open(w.sieves.host); err != nil && w.cfg.Options.Verbose > 0 {
		w.msgs.say("functions of Python, Ruby and PHP have no names: %v", err)
	}
	return w.sieves.interpreters
}

// openFiltered opens the plan's events together with the programs that filter
// their samples.
func (w *env) openFiltered(ctx context.Context, p *plan.Plan) (src *perf.Source, err error) {
	cfg := w.perfConfig(p)
	defer func() {
		if err != nil {
			err = errors.Join(err, w.sieves.Close())
		}
	}()
	for i, e := range p.Events {
		if e.SampleFilter == nil {
			w.sieves.interpreters.Observe(cfg.Events, i, e.Stack)
			continue
		}
		run, err := w.load(e.SampleFilter)
		if err != nil {
			w.sayRejected(err)
			return nil, err
		}
		w.sieves.Runs = append(w.sieves.Runs, run)
		cfg.Events[i].Program = run.FD(0)
	}
	if sending(p) == nil {
		return perf.Open(ctx, cfg)
	}
	if w.sender, err = w.send(p, &cfg); err != nil {
		return nil, err
	}
	if src, err = perf.Open(ctx, cfg); err != nil {
		err = errors.Join(err, w.endTables(), w.sender.Close())
		w.sender = nil
	}
	return src, err
}

// load loads programs, with the unwind tables that they need.
func (w *env) load(im *bpf.Image) (*load.Run, error) {
	if w.cfg.spoil != nil {
		w.cfg.spoil(im)
	}
	run, err := load.Open(&im.Image)
	if err == nil {
		if err = w.bringTables(run); err != nil {
			return nil, errors.Join(err, run.Close())
		}
	}
	return run, err
}

// bringTables loads unwind tables into the maps of programs that unwind stacks.
func (w *env) bringTables(run *load.Run) (err error) {
	t := &w.cfg.Target
	named := t.Workload != nil || len(t.PIDs)+len(t.TIDs)+len(t.Cgroups) > 0
	of := walk.Observed{PIDs: t.PIDs, All: !named, Scarce: w.cfg.Options.Limits.budget.Scarce,
		Fits: w.cfg.Options.Limits.budget.Fits}
	if t.Workload != nil && len(t.Workload.Args) > 0 {
		of.Command = t.Workload.Args[0]
	}
	w.tables, err = walk.Preload(run, of)
	return err
}

// endTables stops loading unwind tables, and tells the user which tables were
// missing.
func (w *env) endTables() error {
	told, err := w.tables.End(w.cfg.Options.Verbose > 0)
	w.tables = nil
	for _, line := range told {
		w.msgs.say("%s", line)
	}
	return err
}

// sayRejected shows the verifier's log for a rejected program.
func (w *env) sayRejected(err error) {
	var rejected *load.Rejected
	if errors.As(err, &rejected) && rejected.Log != "" {
		w.msgs.say("the kernel's verifier: %s", rejected.Log)
	}
}
