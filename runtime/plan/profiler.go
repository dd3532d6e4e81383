package plan

import (
	"maps"
	"strconv"

	"ppscript/runtime/cexpr"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/flow"
	"ppscript/runtime/view"
)

// This file makes a whole script a source of another plan's events.
//
// What one plan needs of the other is a stream, no more: the inner script's
// pipeline becomes a part of the outer plan. Its events are opened beside the
// others, in the same rings and read in the same order; what it makes of them
// comes at the time of the event that completed it. (A session of its own for
// each, with its events sent from one to the other, would copy them, and would
// need time order made twice.) Its reports are not run: only the events that
// they show, or count, matter.

// A Profiler is a script as a source of events.
type Profiler struct {
	// In is what the script's results read.
	In []Stream
	// As is the name and the attributes that the user gives; it opens nothing.
	As *Source
	// Limit ends it after that many events; 0 is no limit.
	Limit uint64
	// WholeCPUs says that it is about CPUs, not about some tasks.
	WholeCPUs bool
	// Texts are what its tables show in place of the numbers of fields.
	Texts map[string]view.CellFunc
	// Notes tell of options that have no effect here.
	Notes []error
}

// Inputs implements Stream.
func (p *Profiler) Inputs() []Stream { return p.In }

// Shown is what a script's results show: the events of its logs; if there are
// none, what its tables count. Counters have no events.
func Shown(reports []Report) []Stream {
	var logs, rest []Stream
	add := func(list []Stream, s Stream) []Stream {
		for _, have := range list {
			if have == s {
				return list
			}
		}
		if counts(s) {
			return list
		}
		return append(list, s)
	}
	for _, r := range reports {
		switch r := r.(type) {
		case *Log:
			logs = add(logs, r.In)
		case *Text:
		case *Slow:
			logs = add(logs, &Where{In: r.In, Pred: r.pred()})
		default:
			rest = add(rest, r.Input())
		}
	}
	if len(logs) > 0 {
		return logs
	}
	return rest
}

// pred is the condition for pairs to be shown.
func (s *Slow) pred() Fn {
	switch {
	case s.Than >= 0 && s.Lower >= 0:
		return Fn{Text: num("delay > ", s.Than) + " || " + num("delay < ", s.Lower)}
	case s.Than >= 0:
		return Fn{Text: num("delay > ", s.Than)}
	}
	return Fn{Text: num("delay < ", s.Lower)}
}

func num(text string, n int64) string { return text + strconv.FormatInt(n, 10) }

// counts reports that a stream's events are reads of counters.
func counts(s Stream) bool {
	if _, ok := s.(*Counters); ok {
		return true
	}
	for _, in := range s.Inputs() {
		if counts(in) {
			return true
		}
	}
	return false
}

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
			&pred{"of " + p.As.Name, stands("of_profiler"), once})
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
	operator
	of *Profiler
}

func (*profilerOp) mergeable() bool { return true }

// A profilerRun is a profilerOp that runs.
type profilerRun struct {
	running
	limit  uint64
	router *flow.Router

	n      uint64
	last   *event.Event
	when   event.Time
	passes int64
}

func (op *profilerOp) instantiate(in *Instance) Running {
	return &profilerRun{limit: op.of.Limit, router: in.Router}
}

func (op *profilerOp) program(in *Instance) *expr.Program {
	once := in.runs[op].(*profilerRun).once
	return expr.Build(&expr.Native{Name: "of_profiler", T: expr.TBool, Effect: true, Int: once})
}

// once counts the event at hand. One that goes to several operators counts once:
// they see it one after the other.
func (r *profilerRun) once(f *expr.Frame, _ []expr.Arg) int64 {
	if f.Event == r.last && f.Event.Time == r.when {
		return r.passes
	}
	r.last, r.when, r.passes = f.Event, f.Event.Time, 0
	if r.n++; r.limit > 0 && r.n > r.limit || r.router.Done() {
		return 0
	}
	r.router.Samples++
	r.passes = 1
	return 1
}

// absorb has nothing to add up: the router has the samples.
func (*profilerRun) absorb(Running) {}

// restrict keeps events of other threads away from operators that are meant
// for some: a script among the sources that is attached to all CPUs, since what
// it looks for happens in other threads' contexts, attaches all events there. A
// plan that asks for threads itself wants to see the others too.
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
