package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ppscript/bpf"
	"ppscript/runtime/cexpr"
	"ppscript/runtime/diag"
)

// This file decides where each part of a plan runs: as a program of the kernel, or
// in ppscript, natively or interpreted. The other files named place*.go answer what
// it asks:
//
//	placekernel.go   the part that programs do all of: events, edges, operators
//	placerecords.go  records that programs send of events, and what is in them
//	placepairs.go    pairs that programs send, and what is in them
//	placekeys.go     keys that ppscript computes from what the kernel grouped by
//	placecontext.go  who evaluates sample members that only programs see
//	placetext.go     who reads texts of processes
//	placecost.go     how much passes an edge
//	placecut.go      where the least passes
//	placeexplain.go  how explain shows it
//
// # The cost model
//
// Events and operators are the nodes of a graph, in which events, pairs and what
// folds emit pass along edges. It is cut in two: what is on one side runs in the
// kernel. The cost of a cut is what passes it, in bytes for each event of the
// sources: how many records, which conditions tell, times how large they are, which
// the fields tell that somebody behind the cut reads. So a filter, a group or a
// condition on a delay draws the cut behind itself, and a join that makes one large
// record of two small ones draws it in front.
//
// An edge costs as follows; "never" is a cost that no cut has.
//
//	the kernel to an event      its records as perf sends them, with all of
//	                            the record: the event is then not taken by a program;
//	                            never if only programs see what is read of it
//	an event to who reads it    the records that a program sends, once for all who
//	                            read it; never if programs cannot send it, or it
//	                            does not pay (placerecords.go)
//	a join to who reads         the pairs that programs send, once for all who read
//	its pairs                   them; never if programs cannot send them
//	                            (placepairs.go)
//	a fold to who reads         never: nothing carries what folds emit out of the
//	what it emits               kernel yet
//	an operator to what it      never: who runs in the kernel reads what is there
//	reads
//	a node to ppscript          never, if no program can do its work: inKernel, and
//	                            bpf's Can
//	an operator to another one  never, unless programs can send pairs: then some
//	                            operators may be in the kernel without the others
//
// A group costs nothing: its rows are read at the end of an interval.

// A Place says where a part of a plan runs.
type Place uint8

const (
	InKernel    Place = iota // in programs; of an event: they send its records
	ByPerf                   // of an event: perf samples it, and sends whole records
	Recorded                 // of an event: it is read of a recording
	Elsewhere                // of an event: a profiler or another machine sends it
	Native                   // in ppscript, compiled
	Interpreted              // in ppscript, by Starlark's interpreter
)

func (p Place) String() string {
	return [...]string{"kernel", "perf", "recording", "elsewhere", "native", "interpreted"}[p]
}

// A Placement says where the parts of a plan run, and what passes between them.
type Placement struct {
	// Parts are the events, then the operators.
	Parts []Part
	Edges []PartEdge

	// Kernel is the plan as programs of the kernel; nil if it runs here only,
	// and KernelNo then says why, if somebody asked.
	Kernel   *Kernel
	KernelNo string
	// Projection is the programs that send the events; nil if the kernel itself
	// does, and ProjectionNo then may say why.
	Projection   *ProjectionPlan
	ProjectionNo string
	// OnlyKernel says that Kernel reads what ppscript cannot.
	OnlyKernel bool

	// Interpreted says which functions could not be compiled, and why.
	Interpreted []string
}

// A Part is an event or an operator.
type Part struct {
	Name  string
	Where Place
	Why   string // why no program does its work; "" for KernelNo

	operator bool
}

// A PartEdge is what passes from one part to another.
type PartEdge struct {
	From, To int     // in Parts
	Records  float64 // for each event of the sources, as estimated
	Bytes    int     // of fields in each
	Crosses  bool    // it leaves the kernel
}

// A placing is the graph while it is cut.
type placing struct {
	b     *builder
	nodes []*placeNode // as Placement.Parts
	edges []*placeEdge
	ops   map[Operator]int // their nodes

	passed map[int]float64 // by stream: records for each event of the sources
	bytes  map[int]int     // by stream: what is read of a record
	made   []bool          // by node, after the cut: on the kernel's side
	// collected is what programs can do of the plan; nil if nobody asked.
	collected *kernelBuilder
}

type placeNode struct {
	name        string
	event       *Event
	op          Operator
	no          string // why no program can do its work
	interpreted bool
}

type placeEdge struct {
	from, to int
	a        *feed
	br       *branch
	records  float64
}

// place decides where the plan runs. It comes before predicates move into filters;
// settle is called when the rest is known.
func (b *builder) place() (settle func() error) {
	t := &b.env.KernelEnv
	g := b.graph()
	var kernel *Kernel
	all := "the engine is perf"
	asked := t.Engine == EngineAuto || t.Engine == EngineBPF
	if asked {
		var err error
		if kernel, err = b.kernel(g); err == nil {
			all = ""
		} else {
			all = err.Error()
		}
	}
	evaluated, check := b.sieves()
	part := b.cutBehind(g, kernel, all)
	var c *projector
	if asked && kernel == nil && part == nil {
		c = b.records(evaluated)
	}
	switch {
	case part != nil:
	case c != nil:
		g.cut(all, c.part, c.must, nil)
	default:
		g.cut(all, nil, false, nil)
	}
	if part == nil && g.sends() && c.send(evaluated) != nil {
		g.cut(all, nil, false, nil)
	}
	return func() error {
		p := b.plan
		if kernel != nil && p.Overwrite {
			all = "the last events are wanted"
			g.cut(all, nil, false, nil)
		}
		g.tell(&p.Placement)
		if g.whole() {
			p.Kernel = kernel
		} else if part != nil {
			p.Kernel = part
		} else if asked {
			p.KernelNo = all
		}
		if p.KernelNo != "" && t.Engine == EngineBPF && p.Projection == nil {
			return diag.Errorf(diag.Usage, "engine", "bpf", "%s", p.KernelNo).WithHint("use --engine auto")
		}
		return check()
	}
}

// cutBehind cuts the plan behind joins, if programs can do a part of its work and
// that is cheaper than to send events; else nil, and there is no cut yet.
func (b *builder) cutBehind(g *placing, whole *Kernel, all string) *Kernel {
	if whole != nil {
		return nil
	}
	pairs := b.pairs(g)
	if pairs == nil {
		return nil
	}
	g.cut("", nil, false, pairs.rooms(g))
	if !g.parted() || !pairs.foreseen(g) {
		return nil
	}
	part, err := b.behind(g, pairs)
	if err != nil {
		b.plan.ProjectionNo = err.Error()
		return nil
	}
	return part
}

// parted reports that some operators are in the kernel, and others are not.
func (g *placing) parted() bool {
	in, out := false, false
	for i, n := range g.nodes {
		in, out = in || n.op != nil && g.made[i], out || n.op != nil && !g.made[i]
	}
	return in && out
}

// graph makes the graph of the plan.
func (b *builder) graph() *placing {
	g := &placing{b: b, ops: map[Operator]int{}, passed: map[int]float64{}, bytes: b.readBytes()}
	makers := map[int]int{} // nodes by the stream that they make
	for _, e := range b.plan.Events {
		makers[e.Stream.Index] = len(g.nodes)
		g.nodes = append(g.nodes, &placeNode{name: e.Stream.Label, event: e})
		g.passed[e.Stream.Index] = b.passedFilter(e)
	}
	for _, a := range b.plan.feeds {
		if _, known := g.ops[a.op]; !known {
			g.add(a.op, a.name)
		}
	}
	for _, op := range b.plan.Operators {
		if _, known := g.ops[op]; known {
			continue
		}
		if _, no := op.inKernel(); no != "" {
			g.add(op, nameOf(op))
		}
	}
	for _, a := range b.plan.feeds {
		for i := range a.branches {
			br := &a.branches[i]
			from, ok := makers[br.stream]
			if br.root != nil {
				from, ok = g.ops[makerOf(br.root)]
			}
			if ok {
				g.edges = append(g.edges, &placeEdge{from: from, to: g.ops[a.op], a: a, br: br})
			}
		}
	}
	for _, e := range g.edges {
		g.passes(e)
	}
	return g
}

func (g *placing) add(op Operator, name string) {
	g.ops[op] = len(g.nodes)
	g.nodes = append(g.nodes, &placeNode{name: name, op: op})
}

// makerOf is the operator whose events come from a root.
func makerOf(r root) Operator {
	switch r := r.(type) {
	case *leftRoot:
		return r.node
	case Operator:
		return r
	}
	return nil
}

// nameOf is an operator that nothing is attached to.
func nameOf(op Operator) string {
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", op), "*plan."), "Op"))
}

// passes estimates what an edge brings, and what its operator makes of it. Edges
// come in the order in which events pass them.
func (g *placing) passes(e *placeEdge) {
	n := g.nodes[e.to]
	e.records = g.passed[e.br.stream] * passingAll(e.br.preds)
	for _, p := range e.br.preds {
		n.interpreted = n.interpreted || p.prog.Node == nil || p.prog.IsInterpreted()
	}
	op, _ := n.op.inKernel()
	switch {
	case op.fold != nil:
		step := op.fold.Step.At(e.br.stream)
		n.interpreted = n.interpreted || step.IsInterpreted()
		share := 0.5
		if !step.IsInterpreted() {
			share = emitting(step.Node)
		}
		if op.fold.Out != nil {
			g.passed[op.fold.Out.Index] += e.records * share
			g.bytes[op.fold.Out.Index] = g.b.madeBytes(op.fold.Out.Index, g.bytes)
		}
	case op.join != nil:
		// Each end makes a pair, more or less.
		for start, ends := range op.join.Pairs {
			if e.br.stream >= len(ends) || ends[e.br.stream] == nil {
				continue
			}
			st := ends[e.br.stream].Index
			g.passed[st] = math.Min(e.records, g.passed[start])
			g.bytes[st] = g.b.madeBytes(st, g.bytes)
		}
	}
}

// passedFilter estimates which share of an event's occurrences its own filter lets
// through.
func (b *builder) passedFilter(e *Event) float64 {
	if e.Source.Filter == "" {
		return 1
	}
	p, err := cexpr.CompileFilter(e.Source.Filter, b.scope(e.Source, e.Stream.Schema))
	if err != nil || p.Node == nil {
		return 0.5
	}
	return passing(p.Node)
}

// cut settles what is in the kernel. all says why not all operators can be there,
// though each could; send is what programs send of the events, nil if they send
// nothing, and must says that only they can. pairs are what pairs cost that programs
// send, by stream; if there are some, an operator may be there without the others.
func (g *placing) cut(all string, send *bpf.Part, must bool, pairs map[int]float64) {
	net := newNetwork()
	at := make([]int, len(g.nodes))
	for i := range g.nodes {
		at[i] = net.node()
	}
	last := [2]int{-1, -1} // the event, and the operator, before
	for i, n := range g.nodes {
		switch {
		case n.event != nil:
			room := never
			if !must {
				room = g.passed[n.event.Stream.Index] * float64(perfHead+n.event.Stream.Schema.Size)
			}
			if pairs != nil && g.b.env.KernelEnv.Engine == EngineBPF {
				room = asked
			}
			net.pipe(kernelEnd, at[i], room)
		case all != "" || n.no != "":
			net.pipe(at[i], ourEnd, never)
		}
		if n.event != nil && (n.no != "" && !must || all != "" && send == nil && pairs == nil) {
			net.pipe(at[i], ourEnd, never)
		}
		// Programs take all of the events, and all of the operators, or none.
		kind := 0
		if n.op != nil {
			kind = 1
		}
		if n.op != nil && pairs != nil {
			continue
		}
		if before := last[kind]; before >= 0 {
			net.pipe(at[before], at[i], never)
			net.pipe(at[i], at[before], never)
		}
		last[kind] = i
	}
	g.pipes(net, at, send, pairs)
	in, _ := net.cut()
	g.made = make([]bool, len(g.nodes))
	for i := range g.nodes {
		g.made[i] = in[at[i]]
	}
}

// pipes adds the edges to a network.
func (g *placing) pipes(net *network, at []int, send *bpf.Part, pairs map[int]float64) {
	out := map[int]int{} // by stream: what passes once for all who read it
	for _, e := range g.edges {
		net.pipe(at[e.to], at[e.from], never)
		stream := e.br.stream
		if _, known := out[stream]; !known {
			room := never
			if ev := g.nodes[e.from].event; ev != nil && send != nil {
				room = g.sentBytes(ev, send)
			} else if cost, sent := pairs[stream]; sent {
				room = cost
			}
			out[stream] = net.node()
			net.pipe(at[e.from], out[stream], room)
		}
		net.pipe(out[stream], at[e.to], never)
	}
}

// sentBytes is what a program sends of an event, for each of its occurrences.
func (g *placing) sentBytes(ev *Event, send *bpf.Part) float64 {
	for _, e := range send.Edges {
		if e.Stream != ev.Stream.Index {
			continue
		}
		share := g.passed[e.Stream]
		for _, n := range e.Preds {
			share *= passing(n)
		}
		return share * float64(sentHead+sendSize(e.Send, ev))
	}
	return never
}

// sendSize is how many bytes of fields a record has.
func sendSize(r *bpf.Record, ev *Event) int {
	size := 0
	if r.Whole {
		size = ev.Stream.Schema.Size
	}
	for _, f := range r.Fields {
		size += f.F.Size
	}
	return size + 8*len(r.Texts)
}

// whole reports that all operators are in the kernel, sends that the events alone
// are: programs send their records.
func (g *placing) whole() bool {
	for i, n := range g.nodes {
		if n.op != nil && !g.made[i] {
			return false
		}
	}
	return len(g.b.plan.Events) > 0
}

func (g *placing) sends() bool {
	for i, n := range g.nodes {
		if n.event != nil && !g.made[i] {
			return false
		}
	}
	return len(g.b.plan.Events) > 0 && !g.whole()
}

// tell has the plan tell of it.
func (g *placing) tell(p *Placement) {
	others := slices.ContainsFunc(g.nodes, func(n *placeNode) bool { return n.no != "" })
	for i, n := range g.nodes {
		part := Part{Name: n.name, Why: n.no, operator: n.op != nil}
		switch {
		case g.made[i]:
			part.Why = ""
		case n.event != nil:
			part.Where = n.event.place(g.b.env.Replay)
		case n.interpreted:
			part.Where = Interpreted
		default:
			part.Where = Native
		}
		if n.op != nil && !g.made[i] && n.no == "" && others {
			part.Why = "a program could, but takes all of a plan's operators or none"
		}
		p.Parts = append(p.Parts, part)
	}
	for _, e := range g.edges {
		p.Edges = append(p.Edges, PartEdge{
			From:    e.from,
			To:      e.to,
			Records: e.records,
			Bytes:   g.bytes[e.br.stream],
			Crosses: !g.made[e.to] && (p.Parts[e.from].Where == InKernel || p.Parts[e.from].Where == ByPerf),
		})
	}
}

// place is where the records of an event come from that no program takes.
func (e *Event) place(replay bool) Place {
	switch {
	case replay:
		return Recorded
	case e.Source.Pulled():
		return Elsewhere
	}
	return ByPerf
}
