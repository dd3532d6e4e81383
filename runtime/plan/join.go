package plan

import (
	"fmt"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/unit"
)

// A JoinOp is the operator that Build makes of a Join. It is the root of its
// pairs.
type JoinOp struct {
	step
	spec            *Join
	js              join.Spec
	stages          [][]branch // traced ones
	extra           []branch   // untraced ones
	unpaired        []*unpairedRoot
	unpairedStreams map[int]branch // of events that stay without a partner, by their own streams
	calls           []string       // names in the tree of nested pairs
	around          *Detail        // bounds on the events that are kept around pairs; nil if none are
	about           bool           // the key of a pair is the thread that it is about
	opens           []spanWatch    // the receivers of pairs that have begun and not ended
	// listed says that all events of the join are shown around pairs; else only events
	// of the streams in history are kept.
	listed  bool
	history map[int]bool
	pairsOf
}

// pairsOf names the pairs of a join in messages.
type pairsOf struct {
	name  string
	names []string
	key   string         // text of the key, for messages
	keys  []*event.Field // of the pairs' schemas
}

// A JoinRun is a JoinOp that runs.
type JoinRun struct {
	running
	outlet
	joiner
	op       *JoinOp
	in       *Instance
	tree     *join.Tree     // of nested pairs
	timeline *join.Timeline // nil if no events around pairs are kept
	unpaired []*unpairedRun // receivers of unpaired events
}

// A joiner runs a join: join.Join, or join.Nested if the pairs nest.
type joiner interface {
	flow.Sink
	// Stats counts pairs, waiting events and events without a partner.
	Stats() join.Stats
	// Loss is the loss of the pairs since the last call.
	Loss() event.Loss
	// Failures are the evaluations that failed, which Loss counts too.
	Failures() *flow.Errors
	// End hands out the waiting events at the end of an interval or of the run.
	End(final bool, now event.Time)
	Ended(tid int32, at event.Time)
	Began(tid int32)
}

func (n *JoinOp) emitter(in *Instance) emitter { return in.join(n) }

// settleJoins decides which fields joins keep of waiting events. It comes when
// the fields that each reader needs are known.
func (b *builder) settleJoins() error {
	for _, n := range Of[*JoinOp](b.plan) {
		n.js.KeepRaw = b.rawRead()
		if b.plan.sees().starts || len(n.unpaired) > 0 || n.listed {
			n.js.KeepRaw = -1
		}
		n.js.NeedKey = n.readsKey(b)
		n.js.Limit, n.js.Memory = b.rows(n.js.Limit, 0), b.env.Memory
		if n.around != nil {
			most := (&join.Timeline{LimitBytes: n.around.LimitBytes}).Limit()
			n.around.LimitBytes = b.env.Memory.Share(3, 1, most)
		}
	}
	return nil
}

func (n *JoinOp) instantiate(in *Instance) Running {
	run := &JoinRun{op: n, in: in}
	if n.spec.Nested {
		run.tree = join.NewTree(n.calls)
	}
	if n.around != nil {
		run.timeline = &join.Timeline{LimitBytes: n.around.LimitBytes, MaxAge: n.around.MaxAgeNS}
	}
	for _, r := range n.unpaired {
		taker := &unpairedRun{LeftSieve: join.LeftSieve{Wants: r.wants, OnlyLost: r.lost}}
		taker.To = &taker.next
		run.unpaired = append(run.unpaired, taker)
	}
	return run
}

// Spec is the join's description for programs of the kernel.
func (j *JoinRun) Spec() *join.Spec { return &j.op.js }

// Timeline has the events around the pairs; nil if none are kept.
func (j *JoinRun) Timeline() *join.Timeline { return j.timeline }

func (j *JoinRun) sink(int) flow.Sink { return j }

// start makes the join, now that all readers of its pairs are known.
func (j *JoinRun) start(in *Instance) {
	s := j.op.js
	s.Pairs = make([][]*event.Stream, len(j.op.js.Pairs))
	for i, ends := range j.op.js.Pairs {
		s.Pairs[i] = in.streamsOf(ends)
	}
	s.LossEnd, s.Timeline, s.Opens = in.Router.LossEnd, j.timeline, opens(in, j.op.opens)
	if len(j.unpaired) > 0 {
		s.Streams, s.To = in.streamsOf(s.Streams), j.unpairedSink()
	}
	switch {
	case in.programsDo(j.op):
		j.joiner = j.arrived(in, s)
	case j.op.spec.Nested:
		j.joiner = join.NewNested(s, j.tree, j.to())
	default:
		j.joiner = join.New(s, j.to())
	}
	in.fails(j.op.name, j.Failures(), true)
}

// Forgets reports that the join wants to know of threads of this machine that
// begin and end.
func (n *JoinOp) Forgets() bool { return n.js.Forgets() }

// Forgets reports whether the join of the plan forgets.
func (j *JoinRun) Forgets() bool { return j.op.Forgets() }

func (j *Join) branches(b *builder) ([]branch, error) {
	if len(j.Stages) < 2 && !j.Cycle && !j.Nested {
		return nil, diag.Errorf(diag.Run, "join", "", "got %d stage, want at least two", len(j.Stages)).
			WithHint("give the starts and the ends: join([a], [b], key = \"tid\")")
	}
	n := &JoinOp{spec: j, history: map[int]bool{}}
	all, err := n.findStages(b)
	if err != nil {
		return nil, err
	}
	if err := n.settleKeys(b, all); err != nil {
		return nil, err
	}
	var pairs []branch
	if j.Nested {
		pairs, err = n.nestedPairs(b)
	} else {
		pairs = n.pairs(b)
	}
	if err != nil {
		return nil, err
	}
	n.settleInputs(b)
	b.plan.add(n)
	b.feed(feed{op: n, name: n.name}, all)
	return pairs, nil
}

// findStages finds the events of the stages. It returns all of them; the stages
// keep only the traced ones.
func (n *JoinOp) findStages(b *builder) ([]branch, error) {
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
			if err := br.attrMarks(b); err != nil {
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
			return nil, diag.Errorf(diag.Run, "join", fmt.Sprintf("stage %d", i+1),
				"all of its events are untraced").
				WithHint("leave one event of each stage traced: it starts or ends the pairs")
		}
		n.stages = append(n.stages, traced)
	}
	return all, nil
}

// settleKeys compiles the key of each branch: the branch's own key, or the
// join's.
func (n *JoinOp) settleKeys(b *builder, all []branch) error {
	key := Fn{Text: InstanceName}
	switch {
	case n.spec.Key != nil:
		key = *n.spec.Key
	case n.spec.Nested:
		// Calls nest within one task. Idle tasks all have thread number 0, so
		// the CPU tells them apart.
		key = Fn{Text: "_tid ? _tid : -1 - _cpu"}
	}
	n.key = key.label()
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
			n.key = br.marks.keyText
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
		if !sameKind(p, typed) {
			return located(diag.Errorf(diag.Run, "key", key.label(), "is a %s for %s, but a %s for %s",
				p.Type, b.plan.streams[br.stream].Label, typed.Type, first).
				WithHint("use keys of one kind"), key.Pos)
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
	cpuKey := key.Call == nil && (key.Text == InstanceName || key.Text == "_cpu") && !b.env.ByThread
	n.js.ByRing = cpuKey && !own
	n.js.ByThread = true
	for _, br := range all {
		nested := n.spec.Nested && n.spec.Key == nil && br.marks.key != nil && !own
		n.js.ByThread = n.js.ByThread && (br.marks.untraced || nested || flow.ByThread(br.marks.key))
	}
	n.js.Cycle, n.js.Nested, n.js.Limit = n.spec.Cycle, n.spec.Nested, n.spec.Limit
	return nil
}

// sameKind reports that keys may be equal: both are numbers, or texts, or tuples of such.
func sameKind(a, b *expr.Program) bool {
	if len(a.Elems) != len(b.Elems) && a.Node != nil && b.Node != nil {
		return false
	}
	for i := range min(len(a.Elems), len(b.Elems)) {
		if !sameKind(a.Elems[i], b.Elems[i]) {
			return false
		}
	}
	return a.Type.Kind == b.Type.Kind || a.Type.Numeric() && b.Type.Numeric()
}

// settleInputs sets the role of each stream in the join, once all its streams are
// known.
func (n *JoinOp) settleInputs(b *builder) {
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
			n.trick(b, in, br)
		}
	}
	for _, br := range n.extra {
		in := &n.js.In[br.stream]
		in.Untraced, in.Key = true, br.marks.key
		n.trick(b, in, br)
	}
	// Up to the last stream that takes part: many functions make far more pairs.
	last := 0
	for i := range n.js.In {
		if n.js.In[i].Stage >= 0 {
			last = i
		}
	}
	n.setPair(last, last, n.pairOf(last, last))
	for i := range n.js.Pairs {
		n.setPair(i, last, n.pairOf(i, last))
	}
}

// trick makes the join recognise wakeups that lead to no switch.
func (n *JoinOp) trick(b *builder, in *join.In, br branch) {
	wakeup, next := join.TaskFields(br.scope.Schema)
	if !in.Untraced {
		in.Wakeup = wakeup
	}
	e := b.events[br.stream]
	if next != nil && e != nil && e.Source.Filter == "" && len(br.preds) == 0 && len(e.Source.CPUs) == 0 &&
		!b.env.ByThread {
		in.NextPID = next
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
			return nil, located(diag.Errorf(diag.Run, "key", key.label(),
				"is a %s for %s, but a %s for others",
				p.Type, b.plan.streams[br.stream].Label, first).WithHint("use keys of one kind"), key.Pos)
		}
	}
	return fn, nil
}

// notes lists, for explain, the options of a join.
func (n *JoinOp) notes() []string {
	notes := n.js.Notes()
	if n.around != nil {
		most := (&join.Timeline{LimitBytes: n.around.LimitBytes}).Limit()
		notes = append(notes,
			fmt.Sprintf("events are kept to be shown with slow pairs, at most %d MiB of them", most>>20))
	} else if len(n.extra) > 0 {
		notes = append(notes, "untraced events are not used: no result shows what happens during a pair")
	}
	return notes
}

func (n *JoinOp) needs(_ *builder, to *need) {
	to.Add(event.MemberTime)
	for i := range n.js.In {
		in := &n.js.In[i]
		if in.Wakeup != nil || in.NextPID != nil {
			to.Add(event.MemberTID, event.MemberCPU)
			to.Raw = true
		}
	}
	if !n.js.ByRing {
		to.Order("join: starts and ends of one key may be in different rings")
	}
}

// mostNames is how many kinds of pairs are listed.
const mostNames = 16

func (n *JoinOp) explain(w *strings.Builder) {
	names, more := n.names, ""
	if len(names) > mostNames {
		names, more = names[:mostNames], fmt.Sprintf("; and %d more", len(names)-mostNames)
	}
	fmt.Fprintf(w, "join            by %s: %s%s\n", n.key, strings.Join(names, "; "), more)
	for _, note := range n.notes() {
		fmt.Fprintf(w, "                %s\n", note)
	}
}

// End implements Running: waiting events are handed out.
func (j *JoinRun) End(final bool, _, now event.Time) {
	if j.op.spec.Nested && j.in.Kernel.Relates(j.op.graphNode()) {
		j.tree.Adopt(j.in.Programs.Calls(&j.op.js))
	}
	j.joiner.End(final, now)
}

// Loss implements Running.
func (j *JoinRun) Loss() event.Loss { return j.joiner.Loss() }

// State implements Running.
func (j *JoinRun) State() []string {
	st := j.Stats()
	return []string{fmt.Sprintf("join by %s: %d pairs, %d events wait (at most %d), %s, "+
		"%d wake-ups of tasks that were awake, %d of threads that ended", j.op.key, st.Pairs, st.Waiting,
		st.WaitingPeak, unit.Size(int64(st.Bytes)), st.Unnecessary, st.Orphaned)}
}

func (*JoinOp) inUserSpace() bool { return false }

func (n *JoinOp) describe(_ *builder, op *graph.Operator) {
	op.Stateful = true
	if n.around != nil {
		op.Around, op.AroundBytes = true, (&join.Timeline{LimitBytes: n.around.LimitBytes}).Limit()
		op.Explained = len(n.history) > 0 && !n.listed
	}
}

func (n *JoinOp) inKernel() (graph.Work, string) {
	if len(n.opens) > 0 {
		return graph.Work{Join: &n.js}, watched
	}
	return graph.Work{Join: &n.js}, ""
}
