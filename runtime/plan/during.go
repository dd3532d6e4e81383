package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/overlap"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/text/diag"
)

// During splits each span of In by the spans of Of that overlap it. A span is a pair, or
// an emitted event of a fold that has a begin.
type During struct {
	In, Of Stream
	// Keys relate the spans of In to the spans of Of; nil is the thread of a span.
	Keys  [2]*Fn
	Limit int // spans that are kept; 0 is overlap.DefaultLimit
}

// Inputs implements Stream.
func (d *During) Inputs() []Stream { return []Stream{d.In, d.Of} }

// A duringOp is the operator that Build makes of a During. It is the root of
// the parts.
type duringOp struct {
	step
	spec  overlap.Spec
	sides []spanSide // by port
	facts overlap.Facts
	keys  [2]string // for people
}

// A duringRun is a duringOp that runs.
type duringRun struct {
	running
	outlet
	*duringOp
	splitter *overlap.Splitter
	to       []overlap.Side // by port
}

// A spanSide is one of the two inputs of a During: a root that makes spans.
type spanSide struct {
	root     spanRoot
	over     bool
	branches []branch
	source   overlap.Source
}

// A spanRoot makes spans, and calls watchers when a span begins and ends.
type spanRoot interface {
	Operator
	root
	// tells adds a watcher.
	tells(to spanWatch)
	// spanKey is the key that relates begin and end of a span; byThread says that it is a
	// thread's number.
	spanKey(b *builder) (key *flow.Fn, byThread bool)
	// spanStreams lists which spans begin or end with an event of a stream.
	spanStreams(add func(begin, end, span int))
	begun(in *Instance) func(id int32, memory *event.Event) *event.Event
}

// A spanWatch is a port of a During that is called when a span begins and ends (flow.Opens).
type spanWatch struct {
	op   *duringOp
	port int
}

// opens lists the watchers.
func opens(in *Instance, list []spanWatch) (all []flow.Opens) {
	for _, w := range list {
		all = append(all, in.runs[w.op].(*duringRun).to[w.port])
	}
	return all
}

func (n *duringOp) emitter(in *Instance) emitter { return in.runs[n].(*duringRun) }

func (d *During) branches(b *builder) ([]branch, error) {
	n := &duringOp{spec: overlap.Spec{
		Limit: b.env.Memory.Share(4, 256, cmp.Or(d.Limit, overlap.DefaultLimit)), Integer: true,
	}}
	var both [2][]branch
	for i, s := range d.Inputs() {
		var err error
		if both[i], err = b.existing("during", s); err != nil {
			return nil, err
		}
		if err := n.addSides(b, both[i], d.Keys[i], i == 1); err != nil {
			return nil, err
		}
	}
	if err := n.settleFacts(b, both[0]); err != nil {
		return nil, err
	}
	parts, err := n.parts(b, both[0])
	if err != nil {
		return nil, err
	}
	b.plan.add(n)
	for i := range n.sides {
		b.feed(feed{op: n, port: i, name: "during"}, n.sides[i].branches)
	}
	b.plan.mixed = true // also where all spans come from one root
	return parts, nil
}

// addSides finds the roots that make the spans of both inputs.
func (n *duringOp) addSides(b *builder, brs []branch, by *Fn, over bool) error {
	first := len(n.sides)
	for _, br := range brs {
		r, ok := br.root.(spanRoot)
		if f, is := br.root.(*foldOp); !ok || is && f.spec.Begin == 0 {
			label := b.plan.streams[br.stream].Label
			return diag.Errorf(diag.Run, "during", label, "its events are not spans").
				WithHint("take pairs, spans(begin, end), or a fold with begin = \"since\"")
		}
		at := first + slices.IndexFunc(n.sides[first:], func(s spanSide) bool { return s.root == r })
		if at < first {
			at = len(n.sides)
			n.sides = append(n.sides, spanSide{root: r, over: over})
		}
		n.sides[at].branches = append(n.sides[at].branches, br)
	}
	for i := first; i < len(n.sides); i++ {
		s := &n.sides[i]
		if err := s.settle(b, n, by); err != nil {
			return err
		}
		s.root.tells(spanWatch{n, i})
	}
	return nil
}

// settle finds the key of the spans and their streams.
func (s *spanSide) settle(b *builder, n *duringOp, by *Fn) error {
	total := len(b.plan.streams)
	own, byThread := s.root.spanKey(b)
	fn := Fn{Text: "_tid"}
	if by != nil {
		fn, byThread = *by, by.Text == "key" && by.Call == nil
	}
	side := &n.keys[0]
	if s.over {
		side = &n.keys[1]
	}
	if s.source.Ends = own; byThread {
		s.source.Begins = own
		*side = "thread"
		if by != nil {
			*side = "key"
		}
	} else {
		var err error
		if s.source.Key, err = b.keyFn(fn, s.branches); err != nil {
			return err
		}
		if !overlap.KnowsKey(s.source.Key) {
			return located(diag.Errorf(diag.Run, "during", fn.label(),
				"a span that lasts has no such key yet").
				WithHint("use what its begin tells, such as start.pid, or key, that of its join"), fn.Pos)
		}
		own, *side = s.source.Key, fn.label()
	}
	if typ := own.Any().Type; typ.Numeric() != n.spec.Integer && s != &n.sides[0] {
		return located(diag.Errorf(diag.Run, "during", fn.label(), "is a %s, other keys are not", typ).
			WithHint("use keys of one kind"), fn.Pos)
	}
	n.spec.Integer = own.Any().Type.Numeric()
	s.source.Spans = make([]*event.Stream, total)
	of := map[int]bool{}
	for i := range s.branches {
		of[s.branches[i].stream] = true
	}
	add := func(stream, span int) {
		if s.source.Spans[stream] == nil && of[span] {
			s.source.Spans[stream] = b.plan.streams[span]
		}
	}
	s.root.spanStreams(func(begin, _, span int) { add(begin, span) })
	s.root.spanStreams(func(_, end, span int) { add(end, span) })
	return nil
}

// notFacts are the names that every span has, so that they are not facts of one
// kind.
var notFacts = []string{eventName, "_" + eventName, InstanceName, "reason", "begin", "delay"}

// settleFacts finds the values that parts copy from their spans: values of let, and
// fields that a fold emits.
func (n *duringOp) settleFacts(b *builder, split []branch) error {
	var sources []*overlap.Source
	for i := range n.sides {
		s := &n.sides[i]
		if !s.over {
			continue
		}
		total := len(b.plan.streams)
		s.source.Names, s.source.Facts = make([]event.Value, total), make([][]*expr.Program, total)
		sources = append(sources, &s.source)
		for _, br := range s.branches {
			s.source.Names[br.stream] = event.StrOf(b.plan.streams[br.stream].Label)
			nodes, to := br.facts(), &s.source.Facts[br.stream]
			for _, name := range slices.Sorted(maps.Keys(nodes)) {
				own := func(s branch) bool { return s.scope.Vars[name] != nil }
				if b.whose[nodes[name]] && slices.ContainsFunc(split, own) {
					continue
				}
				p, ok := expr.Build(nodes[name]), false
				if *to, ok = n.facts.Add(*to, name, p, b.prints.By(nodes[name])); !ok {
					return diag.Errorf(diag.Run, "during", name,
						"is a text for some spans, and a number for others").
						WithHint("give them names of their own with let")
				}
				b.programs = append(b.programs, p)
				b.uses(&br, p)
			}
		}
	}
	n.facts.Settle(&n.spec, sources)
	return nil
}

// facts lists the named values of a span.
func (br *branch) facts() map[string]expr.Node {
	nodes := map[string]expr.Node{}
	for name, node := range br.scope.Vars {
		if !strings.Contains(name, ".") && !slices.Contains(notFacts, name) {
			nodes[name] = node
		}
	}
	if _, made := br.root.(*foldOp); made {
		for i := range br.scope.Schema.Fields {
			if f := &br.scope.Schema.Fields[i]; f.Place == event.InSlot && nodes[f.Name] == nil {
				nodes[f.Name] = expr.NewField(f, expr.Self)
			}
		}
	}
	return nodes
}

// parts makes the streams of the parts: the spans themselves, with more slots.
func (n *duringOp) parts(b *builder, of []branch) ([]branch, error) {
	n.spec.Out, n.spec.Slots = make([]*event.Stream, len(b.plan.streams)), make([]int, len(b.plan.streams))
	var brs []branch
	for _, br := range of {
		schema, own, clash := n.facts.PartSchema(b.plan.streams[br.stream].Label, br.scope.Schema)
		sc := *br.scope
		sc.Vars = maps.Clone(sc.Vars)
		delete(sc.Vars, "begin")
		delete(sc.Vars, "delay")
		for _, f := range schema.Fields {
			if _, let := sc.Vars[f.Name]; let {
				clash = f.Name
			}
		}
		if clash != "" {
			return nil, diag.Errorf(diag.Run, "during", clash, "both spans have a value of this name").
				WithHint("give one of them another name with let, or in emit")
		}
		made := b.madeStream(schema)
		sc.Schema, sc.Stream = made.Schema, nil
		n.spec.Out[br.stream], n.spec.Slots[br.stream] = made, own
		brs = append(brs, branch{root: n, stream: made.Index, scope: &sc})
	}
	return brs, nil
}

func (n *duringOp) instantiate(in *Instance) Running {
	run := &duringRun{duringOp: n}
	spec := n.spec
	spec.LossEnd, spec.Out = in.Router.LossEnd, in.streamsOf(spec.Out)
	spec.Split, spec.Over = nil, nil
	for i := range n.sides {
		s := n.sides[i]
		s.source.Spans = in.streamsOf(s.source.Spans)
		s.source.Begun = s.root.begun(in)
		if !s.over {
			spec.Split = append(spec.Split, s.source)
			continue
		}
		s.source.Where = make([]*expr.Program, len(in.streams))
		for i := range s.branches {
			s.source.Where[s.branches[i].stream] = in.conjunction(s.branches[i].preds)
		}
		spec.Over = append(spec.Over, s.source)
	}
	run.splitter = overlap.New(spec, &run.next)
	splits := 0
	for i := range n.sides {
		if n.sides[i].over {
			run.to = append(run.to, run.splitter.Over(i-splits))
			continue
		}
		run.to = append(run.to, run.splitter.Split(i))
		splits++
	}
	in.fails("during", run.splitter.Errors(), true)
	return run
}

func (r *duringRun) sink(port int) flow.Sink { return r.to[port] }

func (*duringOp) needs(_ *builder, n *need) {
	n.Order("during: a span is split by what happened before its end")
}

func (*duringOp) inKernel() (graph.Work, string) {
	return graph.Work{}, "spans are split by others in ppscript"
}

func (n *duringOp) explain(w *strings.Builder) {
	var names [2][]string
	for _, s := range n.sides {
		side := 0
		if s.over {
			side = 1
		}
		for _, br := range s.branches {
			names[side] = append(names[side], br.scope.Schema.Name)
		}
	}
	fmt.Fprintf(w, "during          %s\n", n.spec.Describe(n.keys, names))
}

// Loss implements Running.
func (r *duringRun) Loss() event.Loss { return r.splitter.Loss() }

// State implements Running.
func (r *duringRun) State() []string {
	kept, open := r.splitter.Len()
	return []string{fmt.Sprintf("during: %d spans are kept, %d last", kept, open)}
}
