package session

import (
	"context"
	"errors"
	"syscall"
	"time"

	"ppscript/bpf"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/output/render"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
	"ppscript/runtime/source/perf"
)

// A Config says which reports to run, on which target, and where results go.
type Config struct {
	Reports []plan.Report
	Target  perf.Target
	Options Options
	// Output makes the renderer, once the clock of the events is known.
	Output func(clock func(event.Time) time.Time) (render.Renderer, error)
	// Messages shows messages to the user that are not results; nil drops them.
	// Lines have no newline at their end.
	Messages func(line string)
	// Notes shows messages that are useful but not necessary, such as a useful
	// next command; nil drops them.
	Notes func(line string)
	// Stage is called with each new stage of the run, for a watchdog:
	// Observing, and other words that a user understands; nil ignores it.
	Stage func(stage string)
	// Watching is called with the names of the events when they begin to flow. It is set if a
	// person waits for results; the run then takes a moment at its end to find out why no event
	// came.
	Watching func(events string)
	// Closed is called while events are closed at the end, with the number of closed events and
	// of all; nil ignores it.
	Closed func(done, all uint64)
	// Permit is called before the run opens a file, talks to another machine or starts a
	// program that a report or the target names; its error ends the run. Nil permits all.
	Permit func(u plan.Use) error
	// Confine is called when all is open and events are about to flow, so that a process with only
	// this run can give up rights that it does not need. Nil gives up nothing.
	Confine func(n Confinement) error
	// Dump requests the state of the run, which State gets line by line; nil if
	// there are no requests.
	Dump     <-chan struct{}
	State    func(line string) error
	Services *expr.Services
	Hooks    Hooks

	// spoil changes programs before they are loaded, so that a test can make
	// the kernel refuse them.
	spoil func(*bpf.Image)
}

// Observing is the stage in which events flow.
const Observing = "observe the events"

func (c *Config) stage(name string) {
	if c.Stage != nil {
		c.Stage(name)
	}
}

// Hooks are a script's callbacks; nil ones are not called.
type Hooks struct {
	// Interval is called at each tick, after the results of the interval are
	// made and before they are shown.
	Interval func() error
	// Exit is called once, before the last results are shown.
	Exit func() error
	// Lost is called when events were lost, with the number since the last
	// call.
	Lost func(n uint64) error
	// Services gets the services for expressions in this run.
	Services func(s *expr.Services)
	Parts    Parts
}

// Parts receives partial results, to be merged with the results of other machines.
type Parts struct {
	// Plan sees the plan before anything is opened; its error ends the run.
	Plan func(p *plan.Plan) error
	// Table receives the rows of a table or a histogram, which is then not shown. name converts
	// cells with stacks to text.
	Table func(t *plan.Table, m result.Meta, name func(t *result.Table)) error
	// Ended is called when all results of an interval were shown.
	Ended func(m result.Meta) error
}

// An Outcome is how a run ended.
type Outcome struct {
	Samples uint64
	Loss    event.Loss
	// Gaps is the part of the lost events that stands for CPUs that came
	// online: each counts as one for the time until the events were opened
	// there.
	Gaps uint64
	// Observed says that events were opened; it is false for a script that only
	// computes.
	Observed bool
	// Nothing is a message that no event came, with the reason as far as it is known; "" if events
	// came or were lost.
	Nothing string
	// Unanswered says that evaluations failed and no result is left; that is the run's error.
	Unanswered bool
	// Status is the exit status of the workload as a shell shows it, 128 and
	// Signal if one ended it; -1 if there was none, or it was still running
	// when the run was over.
	Status int
	Signal syscall.Signal
	// Stats is set for live runs.
	Stats *perf.Stats
}

// Events builds the plan of cfg and returns the number of events that it would
// read, without opening them.
func Events(cfg Config) (n int, err error) {
	err = look(&cfg, false, func(p *plan.Plan, _ *catalog) error { n = len(p.Events); return nil })
	return n, err
}

// Schemas finds the events that a source names, on this machine or in the
// recording of cfg, without opening them.
func Schemas(ctx context.Context, cfg Config, s *plan.Source) ([]*event.Schema, error) {
	wd, err := open(ctx, &cfg)
	if err != nil {
		return nil, err
	}
	wd.events.here.Describes = true
	schemas, err := wd.events.Find(s)
	return schemas, errors.Join(err, wd.close())
}

// A Description describes a plan that is not run.
type Description struct {
	Text string
	// Interpreted are the functions that could not be compiled, each with the reason.
	Interpreted []string
	// Instead names the other kernel whose formats of tracepoints were used for the plan, and says
	// why; "" if the formats are of this machine or a recording.
	Instead string
	// Unverified are the events that are not known here, each with the reason. Their readers are
	// not in the plan.
	Unverified []string
}

// Explain builds the plan of cfg and describes it, without opening events.
func Explain(cfg Config) (d Description, err error) {
	if err := withFiles(&cfg); err != nil {
		return d, err
	}
	err = look(&cfg, true, func(p *plan.Plan, c *catalog) error {
		d = Description{p.Explain(), p.Interpreted, c.here.Instead(), p.Unverified}
		return nil
	})
	return d, err
}

// Look builds the plan of cfg and shows it, without opening events.
func Look(cfg Config, see func(p *plan.Plan) error) error {
	return look(&cfg, true, func(p *plan.Plan, _ *catalog) error { return see(p) })
}

// look builds the plan of cfg and shows it. If it is only described, no connection is made, and
// formats of tracepoints may be another kernel's.
func look(cfg *Config, describes bool, see func(p *plan.Plan, c *catalog) error) error {
	wd, err := open(context.Background(), cfg)
	if err != nil {
		return err
	}
	wd.events.here.Describes = describes
	p, err := plan.Build(cfg.Reports, wd.env(cfg))
	if err == nil {
		err = see(p, wd.events)
	}
	return errors.Join(err, wd.close())
}

// withFiles adds the reports for the files that the user asked for.
func withFiles(cfg *Config) (err error) {
	o := &cfg.Options
	cfg.Reports, err = o.Stacks.With(cfg.Reports, o.Timeline.Reports(cfg.Reports), o.Show.NoLog)
	return err
}
