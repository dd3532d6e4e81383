package plan

import (
	"fmt"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/fold"
	"ppscript/runtime/operator/key"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/plan/placement"
	"ppscript/runtime/text/diag"
)

// A Fold runs a state machine for each key and makes a stream of what its
// functions emit.
type Fold struct {
	In      Stream
	Key     Fn
	Machine Machine
	Limit   int     // keys; 0 is key.DefaultLimit
	Name    string  // of the events that are emitted
	Asks    []*Fold // folds in whose states its functions look keys up
	Begin   string  // member of the state that says since when; "" keeps no events
	Pos     string
}

// Inputs implements Stream.
func (f *Fold) Inputs() []Stream {
	all := []Stream{f.In}
	for _, a := range f.Asks {
		all = append(all, a)
	}
	return all
}

// A Machine has the functions of a fold and the layout of the state that they
// share. Package script implements it.
type Machine interface {
	// Name and Pos are the step function's; FlushPos is "" if there is no
	// flush function.
	Name() string
	Pos() string
	FlushPos() string
	// Bind types the functions for the events that can arrive. It returns
	// errors, such as functions that emit nothing. The methods below are valid
	// after it.
	Bind(events []*expr.Scope, flush *expr.Scope) error
	Initial() (numbers []int64, texts []string)
	// Slot is the index of a member of the state among its numbers; false if it
	// has no member of that name.
	Slot(member string) (int, bool)
	Emits() []event.Field
	// Sources are the nodes that the values of the i-th field of Emits come from; a nil is something else.
	Sources(i int) []expr.Node
	// LowerStep and LowerFlush compile the functions into programs of expr; the
	// error says why one cannot be compiled.
	LowerStep(sc *expr.Scope) (expr.Node, error)
	LowerFlush(sc *expr.Scope) (expr.Node, error)
	// Run and RunFlush are the interpreted engine: they work on the frame's
	// event and state, and fail the frame.
	Run(f *expr.Frame)
	RunFlush(f *expr.Frame)
	reader
}

// A foldOp is the operator that Build makes of a Fold. It is the root of the
// emitted events.
type foldOp struct {
	step
	from *Fold
	spec fold.Spec
	Key  string // the key's text, for messages
	Name string
	// Holds says that states may hold numbers of stacks.
	Holds bool
	// streams are the streams of its input; opens are the receivers of spans that
	// have begun and not ended.
	streams []int
	opens   []spanWatch
	asks    map[any]*foldOp // by machine: the folds in whose states the functions look keys up
	// explained says that a Why explains its spans by the events around them.
	explained bool
}

// A FoldRun is a foldOp that runs.
type FoldRun struct {
	running
	outlet
	*foldOp
	Fold *fold.Fold // nil if programs do its work

	// flusher runs the flush function over states that programs keep; the sink next
	// to it takes the emitted events.
	flusher *fold.Flusher
	flushed outlet
	streams []*event.Stream  // of the events that programs take
	stacks  *fold.HeldStacks // stacks of the events that programs emit; nil if they have none
}

func (n *foldOp) emitter(in *Instance) emitter { return in.runs[n].(*FoldRun) }

// hasStacks reports that states, or emitted events, may have numbers of stacks.
func (n *foldOp) hasStacks() bool { return n.Holds || n.spec.Stacks != nil }

func (n *foldOp) instantiate(*Instance) Running { return &FoldRun{foldOp: n} }

// sink is the run itself until the fold is made.
func (r *FoldRun) sink(int) flow.Sink { return r }

// Events implements flow.Sink. Events that programs emitted pass unchanged.
func (r *FoldRun) Events(evs []*event.Event) {
	if r.Fold == nil {
		for _, e := range evs {
			if d := e.Derived; d.Start != nil {
				// The source knows its own streams: the events, in the plan's order.
				d.Start.Stream, d.End.Stream = r.streams[d.Start.Stream.Index], r.streams[d.End.Stream.Index]
			}
		}
		r.stacks.Number(evs)
		r.next.Events(evs)
		return
	}
	r.Fold.Events(evs)
}

// Lost implements flow.Sink. A loss of events that programs emitted breaks no
// state of the fold.
func (r *FoldRun) Lost(ring int32, count uint64, t event.Time) {
	if r.Fold == nil {
		r.next.Lost(ring, count, t)
		return
	}
	r.Fold.Lost(ring, count, t)
}

// start makes the fold, now that all readers of its events are known.
func (r *FoldRun) start(in *Instance) {
	s := r.spec
	s.Out, s.FlushStream = in.Stream(s.Out), in.Stream(s.FlushStream)
	s.Opens = opens(in, r.foldOp.opens)
	s.LookUp = func(of any, k expr.Arg) ([]int64, [][]byte, bool) {
		if n := r.asks[of]; n != nil {
			return in.runs[n].(*FoldRun).Fold.Ask(k)
		}
		return nil, nil, false
	}
	if in.programsDo(r.foldOp) && r.hasStacks() {
		r.stacks = fold.NewHeldStacks(s.Out, func(held uint64) uint64 { return in.Programs.Stack(held) })
	}
	if s.Flush != nil && in.Kernel != nil {
		to := r.to()
		if in.programsDo(r.foldOp) {
			to = r.stacks.In(r.flushed.to())
		}
		r.flusher = fold.NewFlusher(s, to)
		in.fails(r.Name, r.flusher.Errors(), true)
	}
	if in.programsDo(r.foldOp) {
		for _, e := range in.Plan.Events {
			r.streams = append(r.streams, in.Stream(e.Stream))
		}
		return
	}
	r.Fold = fold.New(s, r.to())
	in.fails(r.Name, r.Fold.Errors(), true)
}

func (f *Fold) branches(b *builder) ([]branch, error) {
	brs, err := b.existing("fold", f.In)
	if err != nil {
		return nil, err
	}
	n := &foldOp{from: f, Key: f.Key.label(), Name: b.names.next("fold")}
	n.spec = fold.Spec{Bounds: fold.Bounds{Limit: b.rows(f.Limit, 0), Memory: b.env.Memory},
		ByRing: perRing(b, f.Key, brs)}
	if err := n.ask(b); err != nil {
		return nil, err
	}
	if n.spec.Key, err = b.keyFn(f.Key, brs); err != nil {
		return nil, err
	}
	scopes := make([]*expr.Scope, len(brs))
	for i := range brs {
		scopes[i] = brs[i].scope
		n.streams = append(n.streams, brs[i].stream)
	}
	flush := b.scope(nil, &event.Schema{
		System: "fold",
		Name:   "flush",
		Fields: []event.Field{b.keyField(n.spec.Key)},
	})
	if err := f.Machine.Bind(scopes, flush); err != nil {
		return nil, err
	}
	n.spec.Init, n.spec.Texts = f.Machine.Initial()
	if f.Begin != "" {
		slot, ok := f.Machine.Slot(f.Begin)
		if !ok {
			return nil, diag.Errorf(diag.Run, "fold", "begin", "the state has no number %s", f.Begin).
				WithHint("name the member that says when the state began")
		}
		n.spec.Begin = slot + 1
	}
	n.steps(b, brs, flush)
	fields := slices.Clone(f.Machine.Emits())
	n.nameEmitted(b, fields)
	if !slices.ContainsFunc(fields, func(f event.Field) bool { return f.Name == Stack }) {
		// An emitted event has the stack of the event that caused it.
		if n.spec.Stacks = carried(b, brs); n.spec.Stacks != nil {
			fields = append(fields, event.Field{
				Name:   Stack,
				Type:   "u32",
				Place:  event.InSlot,
				Size:   4,
				Offset: len(fields),
			})
		}
	}
	st := b.madeStream(&event.Schema{System: "fold", Name: f.label(), Fields: fields})
	n.spec.Out = st
	b.plan.add(n)
	b.feed(feed{op: n, name: n.Name}, brs)
	sc := b.scope(nil, st.Schema)
	n.spanScope(b, sc, brs)
	return []branch{{root: n, stream: st.Index, scope: sc}}, nil
}

// ask finds the folds in whose states the functions look keys up. Each event reaches
// these folds first.
func (n *foldOp) ask(b *builder) error {
	n.asks, n.spec.Asks = map[any]*foldOp{}, map[any]*fold.Spec{}
	for _, f := range n.from.Asks {
		brs, err := b.branchesOf(f)
		if err != nil {
			return err
		}
		of := brs[0].root.(*foldOp)
		n.asks[f.Machine], n.spec.Asks[f.Machine] = of, &of.spec
		b.plan.mixed = true // states are read at the moment
	}
	return nil
}

// label is the name of the emitted events.
func (f *Fold) label() string {
	if f.Name != "" {
		return f.Name
	}
	if n := f.Machine.Name(); n != "lambda" {
		return n
	}
	return "fold"
}

// perRing reports that all events of a key come from one ring.
func perRing(b *builder, key Fn, brs []branch) bool {
	for _, br := range brs {
		if br.root != nil {
			return false
		}
	}
	if key.Call != nil || key.Text != InstanceName &&
		(b.env.ByThread || key.Text != "cpu" && key.Text != "_cpu") {
		return false
	}
	for _, br := range brs {
		if f, ok := br.scope.Schema.Field(key.Text); ok && f.Place != event.InMember {
			return false // a field of the record that is called cpu
		}
	}
	return true
}

// steps compiles the functions, for each stream that can arrive.
func (n *foldOp) steps(b *builder, brs []branch, flush *expr.Scope) {
	m := n.from.Machine
	each := make([]*expr.Program, len(b.plan.streams))
	for _, br := range brs {
		each[br.stream] = n.stepProgram(b, m.Pos(), br.scope, m.LowerStep, m.Run)
	}
	n.spec.Step = flow.NewFn(each, sole(brs))
	if m.FlushPos() != "" {
		n.spec.FlushStream = b.madeStream(flush.Schema)
		n.spec.Flush = n.stepProgram(b, m.FlushPos(), flush, m.LowerFlush, m.RunFlush)
	}
}

func (n *foldOp) stepProgram(b *builder, pos string, sc *expr.Scope,
	lower func(*expr.Scope) (expr.Node, error), interpreted func(*expr.Frame)) *expr.Program {
	m := n.from.Machine
	var p *expr.Program
	if !b.env.Interpret {
		node, err := lower(sc)
		if err == nil {
			p = expr.Build(node)
		} else {
			b.plan.Interpreted = append(b.plan.Interpreted, err.Error())
		}
	}
	if p == nil {
		p = expr.InterpretedStep(interpreted)
		b.machines = append(b.machines, m)
		if b.env.Interpret {
			if node, err := lower(sc); err == nil {
				b.prints.Would(p, node)
			}
		}
	}
	b.programs = append(b.programs, p)
	if p.Node == nil || expr.ReadsStack(p.Node) {
		n.Holds = true
	}
	name := m.Name() + " at " + pos
	if pos != m.Pos() {
		name = "flush at " + pos
	}
	b.plan.explainFn(Fn{Text: name}, p)
	return p
}

// keyField describes the field of derived events that has the key, whose
// program is p.
func (b *builder) keyField(of *flow.Fn) event.Field {
	f := key.Field(of.Any())
	b.prints.NameAddresses(&f, b.prints.Nodes(of)...)
	return f
}

// limit is the bound on keys.
func (n *foldOp) limit() int {
	if n.from.Limit > 0 {
		return n.from.Limit
	}
	return key.DefaultLimit
}

func (n *foldOp) needs(b *builder, to *need) {
	to.Add(event.MemberTime)
	if !n.spec.ByRing {
		to.Order("fold: the state of a key depends on the order of events")
	}
	readerOfStack(b, n.from.In, n.from.Machine)
}

func (n *foldOp) explain(w *strings.Builder) {
	numbers, texts := n.from.Machine.Initial()
	members := len(numbers) + len(texts)
	fmt.Fprintf(w, "%-15s by %s: %d members, at most %d keys\n", n.Name, n.Key, members, n.limit())
}

// End implements Running: the flush function sees all states.
func (r *FoldRun) End(_ bool, last, _ event.Time) {
	if r.Fold != nil {
		r.Fold.Flush(last)
	}
}

// flush runs the flush function on one state that programs keep.
func (r *FoldRun) flush(s *fold.State) { r.flusher.Flush(s) }

// Flush runs flush functions: states has programs flush the states that they keep, and
// calls its argument for each of them.
func (in *Instance) Flush(states func(func(of *fold.Spec, s *fold.State)) error) error {
	runs := map[*fold.Spec]*FoldRun{}
	for _, r := range Runs[*FoldRun](in) {
		if r.flusher != nil {
			runs[&r.foldOp.spec] = r
		}
	}
	if len(runs) == 0 {
		return nil
	}
	err := states(func(of *fold.Spec, s *fold.State) { runs[of].flush(s) })
	for _, r := range runs {
		r.flusher.End()
	}
	return err
}

// Flushes reports that programs keep states that are flushed.
func (in *Instance) Flushes() bool {
	return slices.ContainsFunc(Runs[*FoldRun](in), func(r *FoldRun) bool { return r.flusher != nil })
}

// Loss implements Running.
func (r *FoldRun) Loss() event.Loss {
	var l event.Loss // programs tell of theirs
	if r.Fold != nil {
		l = r.Fold.Loss()
	}
	if r.flusher != nil {
		l.Add(r.flusher.Loss())
	}
	return l
}

// State implements Running.
func (r *FoldRun) State() []string {
	if r.Fold == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s by %s: %d keys", r.Name, r.Key, r.Fold.Len())}
}

func (*foldOp) inUserSpace() bool { return false }

func (n *foldOp) describe(b *builder, op *graph.Operator) {
	op.Stateful = true
	env := &b.env.KernelEnv
	if op.KernelRefusal == "" && n.hasStacks() && env.Engine == placement.EngineAuto &&
		!(env.Target != nil && len(env.Target.PIDs)+len(env.Target.TIDs) > 0 && !env.Target.Follow) &&
		(b.env.Replay || !env.Unseen(b.schemas()...)) {
		op.KernelRefusal = "stacks of many processes, which " + n.node.Name +
			" holds, find more room in ppscript"
	}
}

func (n *foldOp) inKernel() (graph.Work, string) {
	switch {
	case len(n.opens) > 0:
		return graph.Work{Fold: &n.spec}, watched
	case n.explained:
		return graph.Work{Fold: &n.spec}, "its spans are explained here"
	case n.spec.Flush != nil && len(expr.AsksIn(n.spec.Flush.Node)) > 0:
		return graph.Work{Fold: &n.spec}, "the flush function of " + n.Name + " asks for a state"
	case n.spec.Flush != nil && n.spec.Flush.IsInterpreted():
		return graph.Work{Fold: &n.spec}, "the flush function of " + n.Name + " stays interpreted"
	}
	no := ""
	n.spec.Step.Each(func(p *expr.Program) {
		if c := placement.HostCall(p.Node); c != nil {
			no = "the step function calls " + c.Name + "(), which runs in ppscript"
			if c.HostOnly != "" {
				no += ": " + c.HostOnly
			}
		}
	})
	return graph.Work{Fold: &n.spec}, no
}
