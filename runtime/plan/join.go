package plan

import (
	"fmt"
	"strings"

	"ppscript/runtime/diag"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/flow"
	"ppscript/runtime/join"
	"ppscript/runtime/unit"
)

// A JoinRun is a join that runs.
type JoinRun struct {
	operator
	joiner
	Spec  *Join
	Key   string   // what relates the events, for people
	Names []string // of the pairs
	// Notes say what else the join does, for Explain.
	Notes []string
	name  string
	node  *JoinOp
	kept  int // bytes of a waiting event's record; negative is all
}

// A joiner is what does the work of a join: a join.Join, or a join.Nested if the
// pairs nest.
type joiner interface {
	flow.Sink
	// Stats tells what became of the events.
	Stats() join.Stats
	// Loss is what the pairs since the last call do not contain.
	Loss() event.Loss
	// Failures are the evaluations that failed, which Loss counts too.
	Failures() *flow.Errors
	// End hands out what waits, at the end of an interval or of the run.
	End(final bool, now event.Time)
	// Forgets reports that the join wants to know of threads of this machine
	// that begin and end.
	Forgets() bool
	Ended(tid int32, at event.Time)
	Began(tid int32)
}

// A JoinOp is a join as a plan has it.
type JoinOp struct {
	spec   *Join
	run    *JoinRun
	js     join.Spec
	stages [][]branch // traced ones
	extra  []branch   // untraced ones
	next   flow.Fan   // who wants the pairs
	left   *leftRoot  // who wants what stays without a partner: the first of
	lefts  []*leftRoot
	leaves map[int]branch // and its streams, by those of the events
	tree   *join.Tree     // of nested pairs
	name   string
	keys   []*event.Field // of the pairs' schemas
	about  bool           // whom pairs are about is told by their key
}

func (n *JoinOp) attach(s flow.Sink) { n.next.Next = append(n.next.Next, s) }

// Events and Lost make the node the sink of its inputs until the join is
// made, behind all of its own sinks.
func (n *JoinOp) Events(evs []*event.Event)                   { n.run.Events(evs) }
func (n *JoinOp) Lost(ring int32, count uint64, t event.Time) { n.run.Lost(ring, count, t) }

// wire makes the join, now that everybody who wants its pairs is known.
func (n *JoinOp) wire(b *builder) {
	var next flow.Sink = &n.next
	if len(n.next.Next) == 1 {
		next = n.next.Next[0]
	}
	n.js.KeepRaw = b.keptRaw()
	n.js.NeedKey = b.readsKey(n)
	n.js.LossEnd = b.plan.Router.LossEnd
	if len(n.lefts) > 0 {
		n.js.LeftTo = n.leftSink()
		n.js.KeepRaw = -1
	}
	if n.js.Timeline != nil {
		n.js.KeepRaw = -1
	}
	n.run.kept = n.js.KeepRaw
	n.run.Notes = n.notes()
	if n.spec.Nested {
		n.run.joiner = join.NewNested(n.js, n.tree, next)
	} else {
		n.run.joiner = join.New(n.js, next)
	}
	b.fails(n.run.Failures(), true, func() string { return n.run.name })
}

func (j *Join) branches(b *builder) ([]branch, error) {
	if len(j.Stages) < 2 && !j.Cycle && !j.Nested {
		return nil, diag.Errorf(diag.Run, "join", "", "got %d stage, want at least two", len(j.Stages)).
			WithHint("give the starts and the ends: join([a], [b], key = \"tid\")")
	}
	n := &JoinOp{spec: j, run: &JoinRun{Spec: j}}
	n.run.node = n
	all, err := b.stages(n)
	if err != nil {
		return nil, err
	}
	if err := b.joinKeys(n, all); err != nil {
		return nil, err
	}
	var pairs []branch
	if j.Nested {
		pairs, err = b.nestedPairs(n)
	} else {
		pairs = b.pairs(n)
	}
	if err != nil {
		return nil, err
	}
	b.inputs(n)
	n.run.name = n.name
	b.joins = append(b.joins, n)
	b.add(n.run)
	b.attachTo(attachment{op: n.run, name: n.name, sink: n}, all)
	return pairs, nil
}

// stages finds the events of the stages. The traced ones stay in their
// stages; all are returned.
func (b *builder) stages(n *JoinOp) ([]branch, error) {
	var all []branch
	for i, s := range n.spec.Stages {
		brs, err := b.branchesOf(s)
		if err != nil {
			return nil, err
		}
		before := len(all)
		if all, err = b.distinct(append(all, brs...)); err != nil {
			return nil, err
		}
		var traced []branch
		for k := range all[before:] {
			br := all[before+k]
			if err := b.attrMarks(&br); err != nil {
				return nil, err
			}
			all[before+k] = br
			if br.marks.untraced {
				n.extra = append(n.extra, br)
			} else {
				traced = append(traced, br)
			}
		}
		if len(brs) == 0 {
			return nil, diag.Errorf(diag.Run, "join", fmt.Sprintf("stage %d", i+1), "has no events").
				WithHint("every stage needs an event that exists here")
		}
		if len(traced) == 0 {
			return nil, diag.Errorf(diag.Run, "join", fmt.Sprintf("stage %d", i+1), "all of its events are untraced").
				WithHint("leave one event of each stage traced: it starts or ends the pairs")
		}
		n.stages = append(n.stages, traced)
	}
	return all, nil
}

// joinKeys compiles the key of each branch: its own, or that of the join.
func (b *builder) joinKeys(n *JoinOp, all []branch) error {
	key := Fn{Text: Instance}
	switch {
	case n.spec.Key != nil:
		key = *n.spec.Key
	case n.spec.Nested:
		// What nests is the work of a task; the idle tasks, which share a
		// thread number, are told apart by their CPU.
		key = Fn{Text: "_tid ? _tid : -1 - _cpu"}
	}
	n.run.Key = key.label()
	own := false
	var typed *expr.Program
	first := ""
	n.js.In = nil
	for i := range all {
		br := &all[i]
		p := br.marks.key
		var err error
		switch {
		case p != nil:
			own = true
			n.run.Key = br.marks.keyText
		default:
			if err = key.check([]branch{*br}); err == nil {
				p, err = b.compile(key, br, expr.Any)
			}
		}
		if err != nil {
			if br.marks.untraced {
				continue // it has no key then, which only samekey asks for
			}
			return err
		}
		br.marks.key = p
		if br.marks.untraced {
			continue
		}
		if typed == nil {
			typed, first = p, b.plan.streams[br.stream].Label
		}
		if p.Type.Kind != typed.Type.Kind && !(p.Type.Numeric() && typed.Type.Numeric()) {
			return located(diag.Errorf(diag.Run, "key", key.label(), "is a %s for %s, but a %s for %s",
				p.Type, b.plan.streams[br.stream].Label, typed.Type, first).WithHint("use keys of one kind"), key.Pos)
		}
	}
	keyOf := map[int]*expr.Program{}
	for _, br := range all {
		keyOf[br.stream] = br.marks.key
	}
	for _, list := range append([][]branch{n.extra}, n.stages...) {
		for i := range list {
			list[i].marks.key = keyOf[list[i].stream]
		}
	}
	cpuKey := key.Call == nil && (key.Text == Instance || key.Text == "_cpu") && !b.env.ByThread
	n.js.ByRing = cpuKey && !own
	n.js.ByThread = true
	for _, br := range all {
		nested := n.spec.Nested && n.spec.Key == nil && br.marks.key != nil && !own
		n.js.ByThread = n.js.ByThread && (br.marks.untraced || nested || threadKey(br.marks.key))
	}
	n.js.Cycle, n.js.Limit = n.spec.Cycle, n.spec.Limit
	return nil
}

// threadKey reports that a key is the number of the thread that is at work.
func threadKey(p *expr.Program) bool {
	f, ok := p.Node.(*expr.Field)
	if !ok || f.Part != expr.Self {
		return false
	}
	if f.F.Place == event.InFact {
		return f.F.Fact == event.FactTID
	}
	return f.F.Place == event.InRaw && f.F.Name == "common_pid"
}

// inputs says what each stream is to the join, once all streams of the join
// are known.
func (b *builder) inputs(n *JoinOp) {
	total := len(b.plan.streams)
	n.js.In = make([]join.In, total)
	for i := range n.js.In {
		n.js.In[i].Stage = -1
	}
	for i, stage := range n.stages {
		for k, br := range stage {
			in := &n.js.In[br.stream]
			in.Stage, in.Key, in.Role = i, br.marks.key, br.marks.role
			in.Return = n.spec.Nested && k == 1
			b.trick(n, in, br)
		}
	}
	for _, br := range n.extra {
		in := &n.js.In[br.stream]
		in.Untraced, in.Key = true, br.marks.key
		b.trick(n, in, br)
	}
	for len(n.js.Pairs) < total {
		n.js.Pairs = append(n.js.Pairs, nil)
	}
	for i := range n.js.Pairs {
		for len(n.js.Pairs[i]) < total {
			n.js.Pairs[i] = append(n.js.Pairs[i], nil)
		}
	}
}

// trick has the join recognise wakeups that lead to no switch.
func (b *builder) trick(n *JoinOp, in *join.In, br branch) {
	s := br.scope.Schema
	field := func(name string) *event.Field {
		f, ok := s.Field(name)
		if !ok || f.Place != event.InRaw {
			return nil
		}
		return f
	}
	switch s.FullName() {
	case "sched:sched_wakeup", "sched:sched_waking":
		if f := field("pid"); f != nil && !in.Untraced {
			in.Wakeup = &join.Wakeup{PID: f, CPU: field("target_cpu")}
		}
	case "sched:sched_switch":
		e := b.events[br.stream]
		if e != nil && e.Source.Filter == "" && len(br.preds) == 0 && len(e.Source.CPUs) == 0 && !b.env.ByThread {
			in.NextPID = field("next_pid")
		}
	}
}

// keyFn compiles a key for all branches and checks that its kinds agree.
func (b *builder) keyFn(key Fn, brs []branch) (*flow.Fn, error) {
	fn, err := b.fn(key, brs, expr.Any)
	if err != nil {
		return nil, err
	}
	first := fn.Any().Type
	for _, br := range brs {
		p := fn.At(br.stream)
		if p.Type.Kind != first.Kind && !(p.Type.Numeric() && first.Numeric()) {
			return nil, located(diag.Errorf(diag.Run, "key", key.label(), "is a %s for %s, but a %s for others",
				p.Type, b.plan.streams[br.stream].Label, first).WithHint("use keys of one kind"), key.Pos)
		}
	}
	return fn, nil
}

// notes say what a join does beside making pairs.
func (n *JoinOp) notes() []string {
	var notes []string
	if n.spec.Nested {
		notes = append(notes, "entries and returns nest as calls do: each key has a stack")
	}
	if n.spec.Cycle {
		notes = append(notes, "the last stage also precedes the first")
	}
	wakeup, next := false, false
	for i := range n.js.In {
		wakeup = wakeup || n.js.In[i].Wakeup != nil
		next = next || n.js.In[i].NextPID != nil
	}
	switch {
	case wakeup && next:
		notes = append(notes, "a wakeup of a task that wakes itself, or still runs, starts nothing")
	case wakeup:
		notes = append(notes, "a wakeup of a task that wakes itself starts nothing")
	}
	if t := n.js.Timeline; t != nil {
		notes = append(notes, fmt.Sprintf("events are kept to be shown with slow pairs, at most %d MiB of them", t.Limit()>>20))
	} else if len(n.extra) > 0 {
		notes = append(notes, "untraced events are not used: no result shows what happens during a pair")
	}
	return notes
}

func (j *JoinRun) needs(_ *builder, n *need) {
	n.add(event.FactTime)
	for i := range j.node.js.In {
		in := &j.node.js.In[i]
		if in.Wakeup != nil || in.NextPID != nil {
			n.add(event.FactTID, event.FactCPU)
			n.raw = true
		}
	}
	if !j.node.js.ByRing {
		n.order("join: starts and ends of one key may be in different rings")
	}
}

func (j *JoinRun) explain(w *strings.Builder) {
	fmt.Fprintf(w, "join            by %s: %s\n", j.Key, strings.Join(j.Names, "; "))
	for _, note := range j.Notes {
		fmt.Fprintf(w, "                %s\n", note)
	}
}

// End implements Operator: what waits is handed out.
func (j *JoinRun) End(final bool, _, now event.Time) { j.joiner.End(final, now) }

// Loss implements Operator.
func (j *JoinRun) Loss() event.Loss { return j.joiner.Loss() }

// State implements Operator.
func (j *JoinRun) State() []string {
	st := j.Stats()
	return []string{fmt.Sprintf("join by %s: %d pairs, %d events wait (at most %d), %s, "+
		"%d wake-ups of tasks that were awake, %d of threads that ended", j.Key, st.Pairs, st.Waiting,
		st.WaitingPeak, unit.Size(int64(st.Bytes)), st.Unnecessary, st.Gone)}
}

func (j *JoinRun) inKernel() (kernelOp, string) {
	n := j.node
	switch {
	case n.spec.Nested:
		return kernelOp{}, n.name + " nests"
	case n.left != nil:
		return kernelOp{}, "events without a partner are wanted"
	case n.js.Timeline != nil:
		return kernelOp{}, "what happens during a pair is wanted"
	}
	for i := range n.js.In {
		if n.js.In[i].Untraced {
			return kernelOp{}, "there are untraced events"
		}
	}
	return kernelOp{join: &n.js}, ""
}
