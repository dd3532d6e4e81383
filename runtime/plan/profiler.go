package plan

import (
	"maps"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/result/view"
)

// This file makes a whole script a source of another plan's events.
//
// The inner script's pipeline becomes a part of the outer plan, as a stream.
// Its events are opened beside the others, in the same rings, and are read in
// the same order. A derived event of it comes at the time of the event that
// completed it. (A session of its own for each, with its events sent from one
// to the other, would copy them, and would need time order made twice.) Its
// reports are not run: only the events that they show, or count, matter.

// A Profiler is a script as a source of events.
type Profiler struct {
	// In are the streams that the script's results read.
	In []Stream
	// As has the name and the attributes that the user gives; it opens no
	// event.
	As *Source
	// Limit ends it after that many events; 0 is no limit.
	Limit uint64
	// WholeCPUs says that the script observes CPUs, not some tasks.
	WholeCPUs bool
	// Texts are the texts that its tables show in place of numbers, by field.
	Texts map[string]view.CellFunc
	// Notes tell of options that have no effect here.
	Notes []error
}

// Inputs implements Stream.
func (p *Profiler) Inputs() []Stream { return p.In }

// profiler is the branches of a script's events, as the outer plan sees them.
func (p *Profiler) branches(b *builder) ([]branch, error) {
	outer := b.inner
	b.inner = true
	brs, err := (&Merge{In: p.In}).branches(b)
	b.inner = outer
	if err != nil {
		return nil, err
	}
	if b.env.Note != nil {
		for _, n := range p.Notes {
			b.env.Note(n)
		}
	}
	if p.WholeCPUs {
		b.plan.WholeCPUs = p.As.Name
	}
	once := &profilerOp{of: p}
	b.plan.add(once)
	for i := range brs {
		br := &brs[i]
		br.as, br.marks = p.As, marks{}
		if _, made := br.root.(*foldOp); made {
			p.name(b.plan.streams[br.stream].Schema)
		}
		br.preds = append(br.preds[:len(br.preds):len(br.preds)],
			&graph.Pred{Text: "of " + p.As.Name, Prog: placeholder("of_profiler"), State: once})
		if p.As.Alias != "" {
			b.plan.streams[br.stream].Label = p.As.Alias
			sc := *br.scope
			br.scope = &sc
			sc.Vars = maps.Clone(sc.Vars)
			sc.Vars["event"] = expr.NewStr(p.As.Alias)
		}
	}
	return brs, nil
}

// A profilerOp counts a script's events as samples of the run, in place of those
// that they are made of, and ends them at the limit.
type profilerOp struct {
	step
	of *Profiler
}

func (*profilerOp) mergeable() bool { return true }

// A profilerRun is a profilerOp that runs.
type profilerRun struct {
	running
	flow.Once
}

func (op *profilerOp) instantiate(in *Instance) Running {
	return &profilerRun{Once: flow.Once{Limit: op.of.Limit, Router: in.Router}}
}

func (op *profilerOp) program(in *Instance) *expr.Program {
	once := in.runs[op].(*profilerRun).Pass
	return expr.Build(&expr.Native{Name: "of_profiler", T: expr.TBool, Effect: true, HostOnly: remembersHere,
		Int: once})
}

// absorb has nothing to add up: the router has the samples.
func (*profilerRun) absorb(Running) {}

// restrict keeps events of other threads away from operators that observe only
// the target's threads. It is needed if a profiler's script must attach to all
// CPUs, since then all events are attached there. A plan that checks threads
// itself gets all events.
func (n *need) restrict(b *builder) error {
	if !n.Traced {
		return nil
	}
	for stream := range b.asks {
		if !b.served[stream] {
			return nil
		}
	}
	for _, e := range b.plan.Events {
		if b.asks[e.Stream.Index] {
			continue
		}
		p, err := cexpr.Compile("traced(_tid)", b.scope(e.Source, e.Stream.Schema))
		if err != nil {
			return err
		}
		n.Add(event.MemberTID)
		e.addNative(b, p, "traced(_tid)")
	}
	return nil
}

// name sets the field "event" of emitted events to the fold's name.
func (p *Profiler) name(s *event.Schema) {
	if s.Text == nil {
		s.Text = view.TextOf(s, p.Texts)
	}
}
