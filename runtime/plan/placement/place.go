package placement

import (
	"math"
	"slices"

	"ppscript/bpf"
	"ppscript/runtime/expr"
	"ppscript/runtime/text/diag"
)

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
	// Bounded says that a budget bounds what the plan costs, InSlots that events come in slots of time
	// for it.
	Bounded, InSlots bool
	relates          bool // keys are left out then, not events
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

// A Placer decides about one plan.
type Placer struct {
	*Graph
	env    *Env
	replay bool
	out    Placement

	nodes     []*node         // events, then operators
	passed    map[int]float64 // by stream: records for each event of the sources
	bytes     map[int]int     // by stream: what is read of a record
	made      []bool          // by node, after the cut: on the kernel's side
	collected *kernelBuilder  // what programs can do of the plan; nil if nobody asked

	openings  []Opening // by event
	moved     []*Pred
	evaluated map[*expr.Program]bool // in the kernel
	sieveNo   string                 // why no program decides about samples
	programs
}

// programs is what they do, as far as it has been decided.
type programs struct {
	kernel *Kernel // that does all of the plan's work
	part   *Kernel // that does some of it
	all    string  // why programs do not do all
	uncut  string  // why they do not do a part

	noSlots string // why events do not come in slots of time
}

// An Opening is how an event is opened, beyond what the plan knows.
type Opening struct {
	// Sent says what a program sends of the event.
	Sent string
	// Sieve is a program that decides about each sample in the kernel; nil if there
	// is none. SieveTexts are its predicates.
	Sieve      *bpf.Image
	SieveTexts []string
}

// A node is an event or an operator.
type node struct {
	name        string
	event       *Event
	op          *Operator
	no          string // why no program can do its work
	interpreted bool
}

// Decide decides where a plan runs. The caller then moves predicates into filters,
// and ends with Settle. replay says that a recording is read.
func Decide(g *Graph, env *Env, replay bool) *Placer {
	p := &Placer{
		Graph:     g,
		env:       env,
		replay:    replay,
		openings:  make([]Opening, len(g.Events)),
		evaluated: map[*expr.Program]bool{},
		programs:  programs{all: "the engine is perf"},
	}
	p.measure()
	asked := p.asked()
	if asked {
		var err error
		if p.kernel, err = p.whole(); err == nil {
			p.all = ""
		} else {
			p.all = err.Error()
		}
	}
	slots := p.inSlots()
	p.sieves()
	if !slots {
		p.part = p.cutBehind()
	}
	var c *projector
	if asked && !slots && p.kernel == nil && p.part == nil {
		c = p.records()
	}
	switch {
	case p.part != nil:
	case c != nil:
		p.cut(p.all, c.part, c.must, nil)
	default:
		p.cut(p.all, nil, false, nil)
	}
	if p.part == nil && p.sends() && c.send() != nil {
		p.cut(p.all, nil, false, nil)
	}
	return p
}

// asked reports that programs may do something of the plan.
func (p *Placer) asked() bool { return p.env.Engine == EngineAuto || p.env.Engine == EngineBPF }

// Moved are the predicates that are checked in the kernel, and nowhere else.
func (p *Placer) Moved() []*Pred { return p.moved }

// Opening is how the event at index i is opened.
func (p *Placer) Opening(i int) Opening { return p.openings[i] }

// Projected reports that programs send the events.
func (p *Placer) Projected() bool { return p.out.Projection != nil }

// SendsEvent reports that programs send the event at index i, for the operators here that read it.
func (p *Placer) SendsEvent(i int) bool { return p.Projected() || p.openings[i].Sent != "" }

// Settle is the placement, now that the rest of the plan is known. overwrite says that
// full rings drop their oldest records.
func (p *Placer) Settle(overwrite bool) (Placement, error) {
	if p.kernel != nil && overwrite {
		p.all = "the last events are wanted"
		p.cut(p.all, nil, false, nil)
	}
	p.tell()
	out := &p.out
	if err := p.bound(overwrite); err != nil {
		return *out, err
	}
	switch {
	case p.inside():
		out.Kernel = p.kernel
	case p.part != nil:
		out.Kernel = p.part
	case p.asked():
		out.KernelNo = p.all
	}
	if out.KernelNo != "" && p.env.Engine == EngineBPF && out.Projection == nil {
		return *out, diag.Errorf(diag.Usage, "engine", "bpf", "%s", out.KernelNo).
			WithHint("use --engine auto")
	}
	return *out, p.check()
}

// cutBehind cuts the plan behind joins, if programs can do a part of its work and
// that is cheaper than to send events; else nil, and there is no cut yet.
func (p *Placer) cutBehind() *Kernel {
	if p.kernel != nil {
		return nil
	}
	pairs, why := p.pairs()
	if p.uncut = why; pairs == nil {
		return nil
	}
	p.cut("", nil, false, pairs.rooms())
	if !p.parted() {
		p.uncut = "less leaves the kernel in front of it than behind it"
		return nil
	}
	if !pairs.foreseen() {
		p.uncut = "what it makes would be read on both sides"
		return nil
	}
	part, err := pairs.behind()
	if err != nil {
		p.out.ProjectionNo, p.uncut = err.Error(), "what it makes cannot be sent: "+err.Error()
		return nil
	}
	return part
}

// parted reports that some operators are in the kernel, and others are not.
func (p *Placer) parted() bool {
	in, out := false, false
	for i, n := range p.nodes {
		in, out = in || n.op != nil && p.made[i], out || n.op != nil && !p.made[i]
	}
	return in && out
}

// measure makes the nodes, and estimates what passes between them.
func (p *Placer) measure() {
	p.passed, p.bytes = map[int]float64{}, p.readBytes()
	for _, e := range p.Events {
		p.nodes = append(p.nodes, &node{name: e.Stream.Label, event: e})
		p.passed[e.Stream.Index] = e.passing()
	}
	for _, op := range p.Operators {
		p.nodes = append(p.nodes, &node{name: op.Name, op: op})
	}
	for _, e := range p.Edges {
		p.passes(e)
	}
}

// passes estimates what an edge brings, and what its operator makes of it. Edges
// come in the order in which events pass them.
func (p *Placer) passes(e *Edge) {
	n := p.nodes[e.To]
	e.records = p.passed[e.Stream] * passingAll(e.Preds)
	for _, pred := range e.Preds {
		n.interpreted = n.interpreted || pred.Prog.Node == nil || pred.Prog.IsInterpreted()
	}
	switch op := n.op; {
	case op.Fold != nil:
		step := op.Fold.Step.At(e.Stream)
		n.interpreted = n.interpreted || step.IsInterpreted()
		share := 0.5
		if !step.IsInterpreted() {
			share = emitting(step.Node)
		}
		if op.Fold.Out != nil {
			p.passed[op.Fold.Out.Index] += e.records * share
			p.bytes[op.Fold.Out.Index] = 8 * len(op.Fold.Out.Schema.Fields)
		}
	case op.Join != nil:
		if left := op.Join.Left; e.Stream < len(left) && left[e.Stream] != nil {
			st := left[e.Stream].Index
			p.passed[st] = e.records * unpaired
			p.bytes[st] = p.bytes[e.Stream]
		}
		// Each end makes a pair, more or less.
		for start, ends := range op.Join.Pairs {
			if e.Stream >= len(ends) || ends[e.Stream] == nil {
				continue
			}
			st := ends[e.Stream].Index
			p.passed[st] = math.Min(e.records, p.passed[start])
			p.bytes[st] = 8 + p.bytes[start] + p.bytes[e.Stream] // what is read of both
		}
	}
}

// passing estimates which share of an event's occurrences its own filter lets
// through.
func (e *Event) passing() float64 {
	switch {
	case e.Err != nil:
		return 0.5
	case e.Program.Filter == nil:
		return 1
	}
	return passing(e.Program.Filter)
}

// cut settles what is in the kernel. all says why not all operators can be there,
// though each could; send is what programs send of the events, nil if they send
// nothing, and must says that only they can. pairs are what pairs cost that programs
// send, by stream; if there are some, an operator may be there without the others.
func (p *Placer) cut(all string, send *bpf.Part, must bool, pairs map[int]float64) {
	net := newNetwork()
	at := make([]int, len(p.nodes))
	for i := range p.nodes {
		at[i] = net.node()
	}
	last := [2]int{-1, -1} // the event, and the operator, before
	for i, n := range p.nodes {
		switch {
		case n.event != nil:
			room := never
			if !must {
				room = p.passed[n.event.Stream.Index] * float64(perfHead+n.event.Stream.Schema.Size)
			}
			if pairs != nil && p.env.Engine == EngineBPF {
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
	p.together(net, at)
	p.pipes(net, at, send, pairs)
	in, _ := net.cut()
	p.made = make([]bool, len(p.nodes))
	for i := range p.nodes {
		p.made[i] = in[at[i]]
	}
}

// together keeps folds on one side that ask each other for states.
func (p *Placer) together(net *network, at []int) {
	for i, n := range p.nodes {
		for k, of := range p.nodes {
			if asks(n, of) {
				net.pipe(at[i], at[k], never)
				net.pipe(at[k], at[i], never)
			}
		}
	}
}

// asks reports that the functions of a fold ask for states of another one.
func asks(n, of *node) bool {
	if n.op == nil || of.op == nil || n.op.Fold == nil || of.op.Fold == nil {
		return false
	}
	for _, spec := range n.op.Fold.Asks {
		if spec == of.op.Fold {
			return true
		}
	}
	return false
}

// pipes adds the edges to a network.
func (p *Placer) pipes(net *network, at []int, send *bpf.Part, pairs map[int]float64) {
	out := map[int]int{} // by stream: what passes once for all who read it
	for _, e := range p.Edges {
		net.pipe(at[e.To], at[e.From], never)
		stream := e.Stream
		if _, sent := pairs[stream]; sent && p.nodes[e.From].event != nil && p.nodes[e.To].no == "" {
			// Its events are sent for others, of whom there are fewer.
			net.pipe(at[e.From], at[e.To], never)
			continue
		}
		if _, known := out[stream]; !known {
			room := never
			if ev := p.nodes[e.From].event; ev != nil && send != nil {
				room = p.sentBytes(ev, send)
			} else if cost, sent := pairs[stream]; sent {
				room = cost
			}
			out[stream] = net.node()
			net.pipe(at[e.From], out[stream], room)
		}
		net.pipe(out[stream], at[e.To], never)
	}
}

// sentBytes is what a program sends of an event, for each of its occurrences.
func (p *Placer) sentBytes(ev *Event, send *bpf.Part) float64 {
	for _, e := range send.Edges {
		if e.Stream != ev.Stream.Index {
			continue
		}
		share := p.passed[e.Stream]
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

// inside reports that all operators are in the kernel, sends that the events alone
// are: programs send their records.
func (p *Placer) inside() bool {
	for i, n := range p.nodes {
		if n.op != nil && !p.made[i] {
			return false
		}
	}
	return len(p.Events) > 0
}

func (p *Placer) sends() bool {
	for i, n := range p.nodes {
		if n.event != nil && !p.made[i] {
			return false
		}
	}
	return len(p.Events) > 0 && !p.inside()
}

// tell notes where the parts run.
func (p *Placer) tell() {
	out := &p.out
	others := slices.ContainsFunc(p.nodes, func(n *node) bool { return n.no != "" })
	for i, n := range p.nodes {
		part := Part{Name: n.name, Why: n.no, operator: n.op != nil}
		switch {
		case p.made[i]:
			part.Why = ""
		case n.event != nil:
			part.Where = n.event.From
		case n.interpreted:
			part.Where = Interpreted
		default:
			part.Where = Native
		}
		if n.op != nil && !p.made[i] && n.no == "" && others && p.uncut != "" {
			part.Why = "a program could, but " + p.uncut
		}
		out.Parts = append(out.Parts, part)
	}
	for _, e := range p.Edges {
		from := out.Parts[e.From].Where
		out.Edges = append(out.Edges, PartEdge{
			From:    e.From,
			To:      e.To,
			Records: e.records,
			Bytes:   p.bytes[e.Stream],
			Crosses: !p.made[e.To] && (from == InKernel || from == ByPerf),
		})
	}
}
