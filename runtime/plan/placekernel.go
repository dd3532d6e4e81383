package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ppscript/bpf"
	"ppscript/runtime/agg"
	"ppscript/runtime/cexpr"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file says what programs can do of a plan: its events, and operators that are
// joins, folds and groups, with the predicates in front of them. Programs do all of
// it, so that no event leaves the kernel, or what placepairs.go leaves to them. The
// native operators are built in any case: session falls back to them if the kernel
// refuses a program.

// The engines that a user can ask for.
const (
	EngineAuto = "auto" // the kernel where it can
	EnginePerf = "perf" // never the kernel; so is ""
	EngineBPF  = "bpf"  // the kernel, or an error
)

// A KernelEnv is what Build must know to decide.
type KernelEnv struct {
	Engine string
	// Host and Target are what programs are generated for. No says why they
	// cannot run here, or for these options; "" if they can.
	Host   *bpf.Host
	Target *bpf.Target
	No     string
	// HostNo says why there is no Host.
	HostNo string
	// NoProjection says why programs must not send events; "" if they may.
	NoProjection string
	// Intervals says that there are results while the run goes on.
	Intervals bool
	// Counted has programs count the events that they take, by CPU; NoKernel
	// says why events must come out of the kernel, "" if they need not.
	Counted  bool
	NoKernel string
	// MaxStack is the most addresses that the kernel finds in a stack.
	MaxStack int
}

// A Kernel is a plan that runs inside the kernel.
type Kernel struct {
	Image  *bpf.Image
	groups map[*agg.Spec]*kernelGroup
	// inside are the operators whose work programs do, if they do not do all; sends
	// says that the others get what these make.
	inside map[Operator]bool
	sends  bool
}

// A kernelGroup is a group whose events programs count.
type kernelGroup struct {
	op    Operator // whose rows they are
	pairs bool     // of pairs
	// deferred is the key, if it is computed when rows are read.
	deferred *deferred
}

// EventsOf is how many events a hit of a group stands for.
func (k *Kernel) EventsOf(spec *agg.Spec) uint64 {
	if k.groups[spec].pairs {
		return 2
	}
	return 1
}

// errNot says why the kernel cannot run the plan.
type errNot struct{ why string }

func (e *errNot) Error() string { return e.why }

func not(format string, args ...any) error { return &errNot{fmt.Sprintf(format, args...)} }

// kernel generates the programs that do all of the plan's work, or says why they
// cannot. What is against an operator is noted with it.
func (b *builder) kernel(g *placing) (*Kernel, error) {
	t := &b.env.KernelEnv
	switch {
	case b.env.Replay:
		return nil, not("a recording is read, which no program sees")
	case t.No != "":
		return nil, not("%s", t.No)
	case t.Host == nil:
		return nil, not("%s", t.HostNo)
	}
	k := &kernelBuilder{
		b:    b,
		part: &bpf.Part{Intervals: t.Intervals, Counted: t.Counted},
		out:  &Kernel{groups: map[*agg.Spec]*kernelGroup{}},
	}
	g.collected = k
	if err := k.build(g); err != nil {
		return nil, err
	}
	if err := b.textsFit(); err != nil {
		return nil, err
	}
	image, err := bpf.Generate(k.part, t.Host, t.Target)
	if err != nil {
		k.blame(g)
		return nil, refusal(err)
	}
	if err := b.bounded(image); err != nil {
		return nil, err
	}
	if t.NoKernel != "" {
		return nil, not("%s", t.NoKernel) // what else is against it was said first
	}
	k.out.Image = image
	return k.out, nil
}

// textsFit has EngineAuto leave plans to ppscript whose texts may be longer than a
// program has room for: there they are errors.
func (b *builder) textsFit() error {
	if b.env.KernelEnv.Engine != EngineAuto {
		return nil
	}
	for _, p := range b.programs {
		if f := longText(p.Node); f != nil {
			return not("%s may be longer than a program has room for", f.F.Name)
		}
	}
	return nil
}

// bounded has EngineAuto leave plans to ppscript whose states would fill a map.
func (b *builder) bounded(image *bpf.Image) error {
	if b.env.KernelEnv.Engine == EngineAuto && image.Fills() {
		return not("the states of a fold are never given up there, and may be too many one day; " +
			"limit = bounds them, --engine bpf takes them as they are")
	}
	return nil
}

// refusal is err as a reason.
func refusal(err error) error {
	var no *bpf.Refusal
	if errors.As(err, &no) {
		return not("%s", no.Why)
	}
	return err
}

// longText finds a field whose length only the record tells. Names of threads
// are short, however a kernel lays them out.
func longText(n expr.Node) (found *expr.Field) {
	if n == nil {
		return nil
	}
	expr.Walk(n, func(n expr.Node) bool {
		f, ok := n.(*expr.Field)
		if ok && f.F.Kind == event.Str && (f.F.Place == event.DataLoc || f.F.Place == event.RelLoc) &&
			!strings.HasSuffix(f.F.Name, "comm") {
			found = f
		}
		return found == nil
	})
	return found
}

// outside says why no program takes an event's occurrences; "" if one can.
func (e *Event) outside() string {
	s := e.Source
	no := ""
	switch {
	case s.Pulled():
		no = "%s comes from elsewhere"
	case s.Probe != nil || s.Kind == Cache || s.Kind == RawPMU:
		no = "%s is neither a tracepoint nor an event that is sampled"
	case e.Stack != nil && e.Stack.Dwarf():
		no = "user stacks of %s are unwound by unwind tables; --user-callchain fp asks for frame pointers"
	case s.Kind != Tracepoint:
		return "" // perf samples it, and the program takes the sample
	case s.Period > 1 || s.Freq > 0:
		no = "%s is sampled"
	case s.Exclude != Exclude{}:
		no = "%s excludes user or kernel"
	default:
		return ""
	}
	return fmt.Sprintf(no, e.Stream.Label)
}

// A kernelBuilder collects what goes into the kernel: the events and the edges
// between them and the operators, which stay those of the plan.
type kernelBuilder struct {
	b    *builder
	part *bpf.Part
	out  *Kernel
}

// stackSpec is s as programs need it.
func (b *builder) stackSpec(s *StackSpec) *bpf.StackSpec {
	if s == nil {
		return nil
	}
	most := b.env.KernelEnv.MaxStack
	if s.Max > 0 {
		most = min(most, s.Max)
	}
	return &bpf.StackSpec{Kernel: s.Kernel, User: s.User, Max: most}
}

// kernelEvent is an event of the plan as programs take it.
func (b *builder) kernelEvent(e *Event) (*bpf.Event, error) {
	ev := &bpf.Event{
		Stream:  e.Stream.Index,
		Schema:  e.Stream.Schema,
		Label:   e.Stream.Label,
		CPUs:    e.Source.CPUs,
		Sampled: e.Source.Kind != Tracepoint,
		Stack:   b.stackSpec(e.Stack),
	}
	if f := e.Source.Filter; f != "" {
		p, err := cexpr.CompileFilter(f, b.scope(e.Source, e.Stream.Schema))
		if err != nil {
			return nil, not("filter %s: %v", f, err)
		}
		ev.Filter = p.Node
	}
	return ev, nil
}

// build collects all of the plan. The error is the first reason against it; each
// node has its own.
func (k *kernelBuilder) build(g *placing) (first error) {
	refuse := func(n *placeNode, err error) {
		if err != nil && n.no == "" {
			n.no = err.Error()
			first = cmp.Or(first, err)
		}
	}
	for _, n := range g.nodes {
		if n.op == nil {
			continue
		}
		if _, no := n.op.inKernel(); no != "" {
			refuse(n, not("%s", no))
		}
	}
	if first == nil && len(k.b.plan.Events) == 0 {
		first = not("there are no events")
	}
	for _, n := range g.nodes {
		if n.event == nil {
			continue
		}
		if no := n.event.outside(); no != "" {
			refuse(n, not("%s", no))
			continue
		}
		ev, err := k.b.kernelEvent(n.event)
		k.part.Events = append(k.part.Events, ev)
		refuse(n, err)
	}
	for _, e := range g.edges {
		if from, to := g.nodes[e.from], g.nodes[e.to]; from.no == "" && to.no == "" {
			refuse(to, k.edge(e.a, e.br))
		} else if to.no == "" {
			to.no = from.name + " comes from ppscript"
		}
	}
	if first != nil {
		k.blame(g)
	}
	return first
}

// blame finds the operators that no program can do the work of: each is tried with
// those that it reads of.
func (k *kernelBuilder) blame(g *placing) {
	t := &k.b.env.KernelEnv
	good := &bpf.Part{Intervals: t.Intervals, Counted: t.Counted}
	for i, n := range g.nodes {
		if n.op == nil || n.no != "" {
			continue
		}
		trial := *good
		trial.Events, trial.Edges = slices.Clone(good.Events), slices.Clone(good.Edges)
		for _, e := range g.edges {
			if e.to == i {
				k.bring(&trial, e.br.stream, n.op)
			}
			if e.to == i && g.nodes[e.from].no != "" {
				n.no = g.nodes[e.from].name + " comes from ppscript"
			}
		}
		if n.no != "" || len(trial.Edges) == len(good.Edges) {
			continue
		}
		if err := trial.Can(t.Host, t.Target); err != nil {
			n.no = refusal(err).Error()
		} else {
			good = &trial
		}
	}
}

// bring adds to a part what brings a stream to an operator, of all that was
// collected.
func (k *kernelBuilder) bring(p *bpf.Part, stream int, op Operator) {
	to, _ := op.inKernel()
	for _, e := range k.part.Edges {
		mine := e.Join == to.join && e.Fold == to.fold && (e.Group == nil) == (to.group == nil)
		if e.Stream != stream || !mine || e.Group != nil && k.out.groups[e.Group].op != op {
			continue
		}
		p.Edges = append(p.Edges, e)
	}
	for _, ev := range k.part.Events {
		if ev.Stream == stream && !slices.Contains(p.Events, ev) {
			p.Events = append(p.Events, ev)
		}
	}
}

// edge brings the events of a branch to the operator of its feed.
func (k *kernelBuilder) edge(a *feed, br *branch) error {
	switch br.root.(type) {
	case nil, *JoinOp, *FoldOp:
	default:
		return not("%s is made of events in ppscript", k.b.plan.streams[br.stream].Label)
	}
	preds, err := predicates(br)
	if err != nil {
		return err
	}
	to, _ := a.op.inKernel()
	e := &bpf.Edge{Name: a.name, Stream: br.stream, Preds: preds, Join: to.join, Fold: to.fold}
	switch {
	case to.group != nil:
		if e.Group, err = k.group(a.op, to.group, br); err != nil {
			return err
		}
	case to.join == nil && to.fold == nil:
		return not("%s runs in ppscript", a.name)
	}
	k.part.Edges = append(k.part.Edges, e)
	return nil
}

// group is the group that programs count by for the events of a branch: that of
// the plan, or one of other keys, from which that of the plan is computed.
func (k *kernelBuilder) group(op Operator, of *agg.Spec, br *branch) (*agg.Spec, error) {
	spec, d, err := deferKeys(of, br.stream, k.partOf(br.stream))
	if err != nil {
		return nil, err
	}
	if d != nil {
		d.finish(k.b.plan.streams[br.stream], k.partOf(br.stream))
	}
	c := k.out.groups[spec]
	if c == nil {
		for _, other := range k.out.groups {
			if other.op == op {
				return nil, not("a key of several events is computed in ppscript")
			}
		}
		c = &kernelGroup{op: op, deferred: d}
		k.out.groups[spec] = c
	}
	if _, ok := br.root.(*JoinOp); ok {
		c.pairs = true
	}
	return spec, nil
}

// partOf returns the schemas of a stream's parts: its own, or those of the
// events of a pair.
func (k *kernelBuilder) partOf(stream int) func(expr.Part) *event.Schema {
	streams := k.b.plan.streams
	return func(p expr.Part) *event.Schema {
		if p == expr.Self {
			return streams[stream].Schema
		}
		for _, n := range Of[*JoinOp](k.b.plan) {
			for s, ends := range n.js.Pairs {
				for e, st := range ends {
					switch {
					case st == nil || st.Index != stream:
					case p == expr.Start:
						return streams[s].Schema
					case p == expr.End:
						return streams[e].Schema
					}
				}
			}
		}
		return nil
	}
}

func predicates(br *branch) ([]expr.Node, error) {
	var ns []expr.Node
	for _, p := range br.preds {
		n, err := nodeOf(p.prog)
		if err != nil {
			return nil, err
		}
		ns = append(ns, n)
	}
	return ns, nil
}

func nodeOf(p *expr.Program) (expr.Node, error) {
	if p == nil || p.IsInterpreted() {
		return nil, not("a function stays interpreted")
	}
	return p.Node, nil
}

// explainKernel says what runs where.
func (p *Plan) explainKernel(b *strings.Builder) {
	switch {
	case p.Kernel != nil:
		fmt.Fprintf(b, "engine          bpf: events are related and counted inside the kernel")
		if p.Kernel.Sends() {
			b.WriteString(", only what matches leaves it")
		}
		b.WriteByte('\n')
		for i := range p.Kernel.Image.Programs {
			prog := &p.Kernel.Image.Programs[i]
			fmt.Fprintf(b, "                %s: %s, %d instructions\n", prog.Label, prog.Where(),
				len(prog.Ins))
		}
	case p.KernelNo != "":
		fmt.Fprintf(b, "engine          perf: not in the kernel, since %s\n", p.KernelNo)
	}
}
