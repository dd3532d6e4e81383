package placement

import (
	"math"
	"slices"

	"ppscript/bpf"
	"ppscript/runtime/expr"
	"ppscript/runtime/plan/graph"
)

// A Placement says where the parts of a plan run, and which records pass
// between them.
type Placement struct {
	// Graph is the plan's graph, whose nodes and edges have the annotations.
	Graph *graph.Graph

	// Kernel is the plan as programs of the kernel; nil if no operator runs in
	// the kernel. KernelNo then says why, if programs were asked for.
	Kernel   *Kernel
	KernelNo string
	// Projection is the programs that send the events; nil if the kernel itself
	// does, and ProjectionNo then may say why.
	Projection   *ProjectionPlan
	ProjectionNo string
	// OnlyKernel says that the plan cannot fall back to ppscript: only programs
	// can read some of its data.
	OnlyKernel bool
	// Bounded says that a budget bounds what the plan costs, InSlots that events come in slots of time
	// for it.
	Bounded, InSlots bool
	relates          bool // keys are left out then, not events
}

// A Placer decides about one plan.
type Placer struct {
	*graph.Graph
	Facts
	env    *Env
	replay bool
	out    Placement

	passed    map[int]float64 // by stream: records for each event of the sources
	bytes     map[int]int     // by stream: what is read of a record
	collected *kernelBuilder  // the parts that programs can run; nil if not asked for

	openings  []Opening              // by event
	evaluated map[*expr.Program]bool // in the kernel
	sieveNo   string                 // why no program accepts or rejects samples
	overwrite bool                   // full rings drop their oldest records
	programs
}

// programs holds the decisions so far about programs.
type programs struct {
	kernel *Kernel // that does all of the plan's work
	part   *Kernel // runs a part of the plan
	all    string  // why programs do not run all
	uncut  string  // why they do not run a part

	noSlots string // why events do not come in slots of time
}

// An Opening is how an event is opened, beyond what the plan knows.
type Opening struct {
	// Projection says what a program sends of the event.
	Projection string
	// Sieve is a program that decides about each sample in the kernel; nil if there
	// is none. SieveTexts are its predicates.
	Sieve      *bpf.Image
	SieveTexts []string
}

// programsAllowed reports that programs may do something of the plan.
func (p *Placer) programsAllowed() bool {
	return p.env.Engine == EngineAuto || p.env.Engine == EngineBPF
}

// Opening is how the event at index i is opened.
func (p *Placer) Opening(i int) Opening { return p.openings[i] }

// Projected reports that programs send the events.
func (p *Placer) Projected() bool { return p.out.Projection != nil }

// SendsEvent reports that programs send the event at index i, for the operators here that read it.
func (p *Placer) SendsEvent(i int) bool { return p.Projected() || p.openings[i].Projection != "" }

// parted reports that some operators are in the kernel and others in ppscript.
func (p *Placer) parted() bool {
	in, out := false, false
	for _, n := range p.Nodes {
		in, out = in || n.Op != nil && n.InKernel, out || n.Op != nil && !n.InKernel
	}
	return in && out
}

// measure estimates what passes between the nodes.
func (p *Placer) measure() error {
	p.passed, p.bytes = map[int]float64{}, p.readBytes()
	for _, e := range p.Events {
		p.passed[e.Stream] = passingEvent(e)
	}
	for _, e := range p.Edges {
		p.passes(e)
	}
	for _, e := range p.Edges {
		e.Bytes = p.bytes[e.Stream] // also of events that later edges make
	}
	return nil
}

// passes estimates how many records an edge brings and how many its operator
// makes of them. Call it for edges in the order in which events pass them.
func (p *Placer) passes(e *graph.Edge) {
	n := e.To
	e.Records = p.passed[e.Stream] * passingAll(e.Preds)
	for _, pred := range e.Preds {
		n.Interpreted = n.Interpreted || pred.Prog.Node == nil || pred.Prog.IsInterpreted()
	}
	switch op := n.Op; {
	case op.Fold != nil:
		step := op.Fold.Step.At(e.Stream)
		n.Interpreted = n.Interpreted || step.IsInterpreted()
		share := 0.5
		if !step.IsInterpreted() {
			share = emitting(step.Node)
		}
		if op.Fold.Out != nil {
			p.passed[op.Fold.Out.Index] += e.Records * share
			p.bytes[op.Fold.Out.Index] = 8 * len(op.Fold.Out.Schema.Fields)
		}
	case op.Join != nil:
		if left := op.Join.Streams; e.Stream < len(left) && left[e.Stream] != nil {
			st := left[e.Stream].Index
			p.passed[st] = e.Records * unpaired
			p.bytes[st] = p.bytes[e.Stream]
		}
		// Each end makes a pair, more or less.
		for start, ends := range op.Join.Pairs {
			if e.Stream >= len(ends) || ends[e.Stream] == nil {
				continue
			}
			st := ends[e.Stream].Index
			p.passed[st] = math.Min(e.Records, p.passed[start])
			p.bytes[st] = 8 + p.bytes[start] + p.bytes[e.Stream] // what is read of both
		}
	}
}

// passingEvent estimates which share of an event's occurrences its own filter lets
// through.
func passingEvent(e *graph.Event) float64 {
	switch {
	case !e.Known():
		return 0.5
	case e.Filter == nil:
		return 1
	}
	return passing(e.Filter)
}

// cut decides which nodes are in the kernel. all says why not all operators can be
// there together, though each could alone. send describes the events that programs
// can send, nil if none; must says that only programs can read them. pairs has the
// cost of sent pairs by stream; if it is not empty, operators may be split between
// kernel and ppscript.
func (p *Placer) cut(all string, send *bpf.Part, must bool, pairs map[int]float64) {
	net := newNetwork()
	at := map[*graph.Node]int{}
	for _, n := range p.Nodes {
		at[n] = net.node()
	}
	last := [2]*graph.Node{} // the event, and the operator, before
	for _, n := range p.Nodes {
		switch {
		case n.Event != nil:
			room := never
			if !must {
				room = p.passed[n.Event.Stream] * float64(perfHead+n.Event.Schema.Size)
			}
			if pairs != nil && p.env.Engine == EngineBPF {
				room = lastResort
			}
			net.pipe(kernelEnd, at[n], room)
		case all != "" || n.Refusal != "":
			net.pipe(at[n], ourEnd, never)
		}
		if n.Event != nil && (n.Refusal != "" && !must || all != "" && send == nil && pairs == nil) {
			net.pipe(at[n], ourEnd, never)
		}
		// Programs take all of the events, and all of the operators, or none.
		kind := 0
		if n.Op != nil {
			kind = 1
		}
		if n.Op != nil && pairs != nil {
			continue
		}
		if before := last[kind]; before != nil {
			net.pipe(at[before], at[n], never)
			net.pipe(at[n], at[before], never)
		}
		last[kind] = n
	}
	p.together(net, at)
	p.pipes(net, at, send, pairs)
	in, _ := net.cut()
	for _, n := range p.Nodes {
		n.InKernel = in[at[n]]
	}
}

// together keeps folds that look up each other's states on one side of the cut.
func (p *Placer) together(net *network, at map[*graph.Node]int) {
	for _, n := range p.Nodes {
		for _, of := range p.Nodes {
			if asks(n, of) {
				net.pipe(at[n], at[of], never)
				net.pipe(at[of], at[n], never)
			}
		}
	}
}

// asks reports that the functions of a fold look up states of another fold.
func asks(n, of *graph.Node) bool {
	if n.Op == nil || of.Op == nil || n.Op.Fold == nil || of.Op.Fold == nil {
		return false
	}
	for _, spec := range n.Op.Fold.Asks {
		if spec == of.Op.Fold {
			return true
		}
	}
	return false
}

// pipes adds the edges to a network.
func (p *Placer) pipes(net *network, at map[*graph.Node]int, send *bpf.Part, pairs map[int]float64) {
	out := map[int]int{} // by stream: records that pass once for all their readers
	for _, e := range p.Edges {
		net.pipe(at[e.To], at[e.From], never)
		stream := e.Stream
		if _, sent := pairs[stream]; sent && e.From.Event != nil && e.To.Refusal == "" {
			// A program sends its events for other operators, in smaller
			// number.
			net.pipe(at[e.From], at[e.To], never)
			continue
		}
		if _, known := out[stream]; !known {
			room := never
			if e.From.Event != nil && send != nil {
				of := func(e *graph.Edge) bool { return e.Stream == stream }
				if i := slices.IndexFunc(send.Edges, of); i >= 0 {
					room = p.sentBytes(send.Edges[i])
				}
			} else if cost, sent := pairs[stream]; sent {
				room = cost
			}
			out[stream] = net.node()
			net.pipe(at[e.From], out[stream], room)
		}
		net.pipe(out[stream], at[e.To], never)
	}
}

// inside reports that all operators are in the kernel, sends that the events alone
// are: programs send their records.
func (p *Placer) inside() bool {
	for _, n := range p.Nodes {
		if n.Op != nil && !n.InKernel {
			return false
		}
	}
	return len(p.Events) > 0
}

func (p *Placer) sends() bool {
	for _, n := range p.Nodes {
		if n.Event != nil && !n.InKernel {
			return false
		}
	}
	return len(p.Events) > 0 && !p.inside()
}

// tell writes to each node where it runs.
func (p *Placer) tell() error {
	others := slices.ContainsFunc(p.Nodes, func(n *graph.Node) bool { return n.Refusal != "" })
	for _, n := range p.Nodes {
		n.Why = n.Refusal
		switch {
		case n.InKernel:
			n.Where, n.Why = graph.InKernel, ""
		case n.Event != nil:
			n.Where = n.Event.From
		case n.Interpreted:
			n.Where = graph.Interpreted
		default:
			n.Where = graph.Native
		}
		if n.Op != nil && !n.InKernel && n.Refusal == "" && others && p.uncut != "" {
			n.Why = "a program could, but " + p.uncut
		}
	}
	for _, e := range p.Edges {
		from := e.From.Where
		e.Crosses = !e.To.InKernel && (from == graph.InKernel || from == graph.ByPerf)
	}
	p.out.Graph = p.Graph
	return nil
}
