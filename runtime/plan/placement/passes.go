package placement

import (
	"ppscript/runtime/expr"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/text/diag"
)

// This file has the passes of placement, in their order. A pass reads the graph, the facts and the
// annotations of passes before it, and writes its own.

// A pass is one step. reads and writes list the annotations that it uses and sets: on nodes, edges
// and predicates of the graph, on openings, and on the placement.
type pass struct {
	name   string
	reads  string
	writes string
	run    func(p *Placer) error
}

// deciding are the passes of Decide: after them it is known what programs do.
var deciding = []pass{
	{"measure",
		"Edge.Preds, Event.Filter, functions",
		"Edge.Records, Edge.Bytes, Node.Interpreted", (*Placer).measure},
	{"collect",
		"Operator, Event, Edge",
		"Node.Refusal, Edge.Group, Edge.Keep, programs of all work", (*Placer).collect},
	{"slot",
		"programs of all work, budget",
		"Placement.InSlots: then there are no programs", (*Placer).slot},
	{"sieve",
		"Edge.Preds that read context members",
		"Opening.Sieve, Pred.Checked", (*Placer).sieve},
	{"cut behind",
		"Node.Refusal, Edge.Records",
		"Node.InKernel, programs of a part, Opening.Sent, Pred.Checked", (*Placer).cutBehind},
	{"cut",
		"Node.Refusal, Edge.Records, programs of all work",
		"Node.InKernel, Placement.Projection, Opening.Sent, Pred.Checked", (*Placer).cutEvents},
}

// settling are the passes of Settle, which comes when the rest of the plan is known.
var settling = []pass{
	{"keep newest",
		"whether rings drop their oldest records",
		"Node.InKernel", (*Placer).keepNewest},
	{"tell",
		"Node.InKernel, Node.Refusal, Node.Interpreted",
		"Node.Where, Node.Why, Edge.Crosses", (*Placer).tell},
	{"bound",
		"budget, programs of all work",
		"Placement.Bounded, Placement.OnlyKernel", (*Placer).bound},
	{"choose",
		"Node.InKernel, programs",
		"Placement.Kernel, or KernelNo", (*Placer).choose},
	{"check",
		"Placement.Kernel, functions that only programs evaluate",
		"Placement.OnlyKernel", (*Placer).check},
}

// Decide decides where a plan runs. The caller then moves predicates into filters,
// and ends with Settle. replay says that a recording is read.
func Decide(g *graph.Graph, facts Facts, env *Env, replay bool) *Placer {
	p := &Placer{
		Graph:     g,
		Facts:     facts,
		env:       env,
		replay:    replay,
		openings:  make([]Opening, len(g.Events)),
		evaluated: map[*expr.Program]bool{},
		programs:  programs{all: "the engine is perf"},
	}
	for _, pass := range deciding {
		if err := pass.run(p); err != nil {
			panic("BUG: pass " + pass.name + ": " + err.Error())
		}
	}
	return p
}

// Settle completes the placement when the rest of the plan is known. overwrite says
// that full rings drop their oldest records.
func (p *Placer) Settle(overwrite bool) (Placement, error) {
	p.overwrite = overwrite
	for _, pass := range settling {
		if err := pass.run(p); err != nil {
			return p.out, err
		}
	}
	return p.out, nil
}

// collect generates the programs that do all of the plan's work, where they are asked for and can.
func (p *Placer) collect() error {
	if !p.programsAllowed() {
		return nil
	}
	var err error
	if p.kernel, err = p.whole(); err != nil {
		p.all = err.Error()
	} else {
		p.all = ""
	}
	return nil
}

// cutBehind cuts the plan behind joins and folds, if programs can run these and
// that is cheaper than sending events; else it leaves the plan uncut.
func (p *Placer) cutBehind() error {
	if p.kernel != nil || p.out.InSlots {
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
	p.part = part
	return nil
}

// cutEvents cuts a plan that cutBehind left uncut: programs run all of it, or send its events,
// or do nothing.
func (p *Placer) cutEvents() error {
	if p.part != nil {
		return nil
	}
	var c *projector
	if p.programsAllowed() && !p.out.InSlots && p.kernel == nil {
		c = p.records()
	}
	if c == nil {
		p.cut(p.all, nil, false, nil)
		return nil
	}
	p.cut(p.all, c.part, c.must, nil)
	if p.sends() && c.send() != nil {
		p.cut(p.all, nil, false, nil)
	}
	return nil
}

// keepNewest gives all work back to ppscript if only the newest events are wanted, which stay in
// perf's rings.
func (p *Placer) keepNewest() error {
	if p.kernel != nil && p.overwrite {
		p.all = "the last events are wanted"
		p.cut(p.all, nil, false, nil)
	}
	return nil
}

// choose settles which programs run.
func (p *Placer) choose() error {
	out := &p.out
	switch {
	case p.inside():
		out.Kernel = p.kernel
	case p.part != nil:
		out.Kernel = p.part
	case p.programsAllowed():
		out.KernelNo = p.all
	}
	if out.KernelNo != "" && p.env.Engine == EngineBPF && out.Projection == nil {
		return diag.Errorf(diag.Usage, "engine", "bpf", "%s", out.KernelNo).
			WithHint("use --engine auto")
	}
	return nil
}
