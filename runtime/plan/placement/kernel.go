package placement

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ppscript/bpf"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/plan/graph"
)

// This file collects the parts of a plan that programs of the kernel can run:
// events, joins, folds and groups, with the predicates in front of them. Programs
// run either all of the plan, so that no event leaves the kernel, or the part in
// front of the cut (pairs.go). The native operators are built in any case: session
// falls back to them if the kernel refuses a program.

// A Kernel is a plan, or the part of it in front of the cut, as programs of the
// kernel.
type Kernel struct {
	Image  *bpf.Image
	groups map[*agg.Spec]*kernelGroup
	// sends says that programs run some of the operators, and send their output to the operators
	// in ppscript.
	sends bool
}

// A kernelGroup is a group whose events programs count.
type kernelGroup struct {
	op *graph.Node // whose rows they are
	// deferred is the key, if it is computed when rows are read.
	deferred *tableKey
}

// Sends reports that programs run some of the operators and send their output to
// the others.
func (k *Kernel) Sends() bool { return k != nil && k.sends }

// Does reports that programs run an operator of a plan that is only in part in
// the kernel.
func (k *Kernel) Does(op *graph.Node) bool { return k.Sends() && op.InKernel }

// Relates reports that programs run an operator, whether the plan is in the kernel in
// whole or in part.
func (k *Kernel) Relates(op *graph.Node) bool { return k != nil && (!k.sends || op.InKernel) }

// Counts is the operator whose rows programs count as a group.
func (k *Kernel) Counts(spec *agg.Spec) *graph.Node { return k.groups[spec].op }

// errNot says why the kernel cannot run the plan.
type errNot struct{ why string }

func (e *errNot) Error() string { return e.why }

func not(format string, args ...any) error { return &errNot{fmt.Sprintf(format, args...)} }

// whole generates the programs that run all of the plan, or says why they
// cannot. Each operator's own reason is written to its node.
func (p *Placer) whole() (*Kernel, error) {
	t := p.env
	switch {
	case p.replay:
		return nil, not("a recording is read, which no program sees")
	case t.No != "":
		return nil, not("%s", t.No)
	case t.Host == nil:
		return nil, not("%s", t.HostNo)
	}
	k := &kernelBuilder{
		p:    p,
		part: &bpf.Part{Intervals: t.Intervals, Counted: t.Counted, Weighed: t.BudgetRules.On},
		out:  &Kernel{groups: map[*agg.Spec]*kernelGroup{}},
	}
	p.collected = k
	if err := k.build(); err != nil {
		return nil, err
	}
	if err := p.textsFit(p.wholeText); err != nil {
		return nil, err
	}
	image, err := bpf.Generate(k.part, t.Host, t.Target)
	if err != nil {
		k.blame()
		return nil, refusal(err)
	}
	if image.Times && t.ConvertsTimes {
		return nil, not("times are converted from those of perf's own clock")
	}
	if t.NoKernel != "" {
		return nil, not("%s", t.NoKernel) // other reasons were reported first
	}
	k.out.Image = image
	return k.out, nil
}

// refusal turns an error of bpf into the reason that explain shows.
func refusal(err error) error {
	var no *bpf.Refusal
	if errors.As(err, &no) {
		return not("%s", no.Why)
	}
	return err
}

// A kernelBuilder collects the events and edges of the graph that programs can take.
type kernelBuilder struct {
	p    *Placer
	part *bpf.Part
	out  *Kernel
	// around lists the joins for which events around pairs are kept.
	around []*graph.Operator
}

// build collects all of the plan. The error is the first reason why programs
// cannot run it; each node has its own reason.
func (k *kernelBuilder) build() (first error) {
	p := k.p
	refuse := func(n *graph.Node, err error) {
		if err != nil && n.Refusal == "" {
			n.Refusal = err.Error()
			first = cmp.Or(first, err)
		}
	}
	for _, n := range p.Nodes {
		if n.Op != nil && n.Op.KernelRefusal != "" {
			refuse(n, not("%s", n.Op.KernelRefusal))
		}
	}
	if first == nil && len(p.Events) == 0 {
		first = not("there are no events")
	}
	for _, n := range p.Nodes {
		if n.Event == nil {
			continue
		}
		if no := n.Event.ExcludedReason; no != "" {
			refuse(n, not("%s", no))
			continue
		}
		if refuse(n, n.Event.Err); n.Event.Known() {
			k.part.Events = append(k.part.Events, n.Event)
		}
	}
	for _, e := range p.Edges {
		if from, to := e.From, e.To; from.Refusal == "" && to.Refusal == "" {
			refuse(to, k.edge(e))
		} else if to.Refusal == "" {
			to.Refusal = from.Name + " comes from ppscript"
		}
	}
	if first != nil {
		k.blame()
	}
	return first
}

// blame finds the operators that no program can run, by trying each one with only
// the operators that it reads from.
func (k *kernelBuilder) blame() {
	p, t := k.p, k.p.env
	good := &bpf.Part{Intervals: t.Intervals, Counted: t.Counted, Weighed: t.BudgetRules.On}
	for _, n := range p.Nodes {
		if n.Op == nil || n.Refusal != "" {
			continue
		}
		trial := *good
		trial.Events, trial.Edges = slices.Clone(good.Events), slices.Clone(good.Edges)
		for _, e := range p.Edges {
			if e.To == n {
				k.bring(&trial, e.Stream, n)
			}
			if e.To == n && e.From.Refusal != "" {
				n.Refusal = e.From.Name + " comes from ppscript"
			}
		}
		if n.Refusal != "" || len(trial.Edges) == len(good.Edges) {
			continue
		}
		if err := trial.Can(t.Host, t.Target); err != nil {
			n.Refusal = refusal(err).Error()
		} else {
			good = &trial
		}
	}
}

// bring adds to a part what brings a stream to an operator, of all that was
// collected.
func (k *kernelBuilder) bring(p *bpf.Part, stream int, op *graph.Node) {
	for _, e := range k.part.Edges {
		if e.Stream == stream && e.To == op {
			p.Edges = append(p.Edges, e)
		}
	}
	for _, ev := range k.part.Events {
		if ev.Stream == stream && !slices.Contains(p.Events, ev) {
			p.Events = append(p.Events, ev)
		}
	}
}

// edge adds an edge to the part that programs run.
func (k *kernelBuilder) edge(e *graph.Edge) (err error) {
	op := e.To.Op
	if k.p.isUnpaired(e.Stream) {
		return not("%s leaves the kernel, where it has no partner", k.p.Streams[e.Stream].Label)
	}
	if e.InUserSpace {
		return not("%s is made of events in ppscript", k.p.Streams[e.Stream].Label)
	}
	for _, p := range e.Preds {
		if err := compiled(p.Prog); err != nil {
			return err
		}
	}
	switch {
	case op.Group != nil:
		if e.Group, err = k.group(e); err != nil {
			return err
		}
	case op.Join == nil && op.Fold == nil:
		return not("%s runs in ppscript", e.Name)
	case op.Around && !op.Join.In[e.Stream].Apart:
		if err := k.keep(e, op); err != nil {
			return err
		}
	}
	k.part.Edges = append(k.part.Edges, e)
	return nil
}

// keep makes programs keep the events of an edge to a join, with all that a
// line shows, so that they can be shown with a pair.
func (k *kernelBuilder) keep(e *graph.Edge, op *graph.Operator) error {
	t := k.p.env
	if !slices.Contains(k.around, op) {
		k.around = append(k.around, op)
	}
	if k.part.KeptBytes = t.KeptBytes; t.KeptCPUs > 0 {
		all := 0
		for _, op := range k.around {
			all += op.AroundBytes
		}
		share := all / t.KeptCPUs
		if k.part.KeptBytes = min(t.KeptBytes, share); op.Explained {
			// Kept events take twice the memory once they are read.
			k.part.KeptBytes = max(k.part.KeptBytes, share/2)
		}
	}
	e.Keep = &graph.Record{Stacks: k.p.Stacked != ""}
	fields := k.p.Streams[e.Stream].Schema.Fields
	for i := range fields {
		f := &fields[i]
		switch {
		case f.Place == event.InSlot || strings.HasPrefix(f.Name, "common_"):
		case op.Explained && e.From.Event.Decides: // only its time is read
		case f.Place != event.InMember:
			e.Keep.Fields = append(e.Keep.Fields, &expr.Field{F: f})
		case f.Member.OfRegister() && (f.Operand() == nil || !f.Operand().Constant()):
			words, ok := wordsOf(f)
			if !ok {
				return not("field %s is not kept for lines", f.Name)
			}
			for _, w := range words {
				e.Keep.Fields = addWord(e.Keep.Fields, &expr.Field{F: w})
			}
		}
	}
	for _, u := range k.p.Reads.Contexts {
		if program := e.From.Event; u.Optional && program != nil && op.Explained &&
			u.Schema == k.p.Streams[e.Stream].Schema &&
			bpf.Can(&expr.Field{F: u.Read}, program, t.Host) == nil {
			addRead(e.Keep, u.Read)
		}
	}
	return nil
}

// group is the group that programs count by for the events of an edge: the
// plan's own, or one with other keys, from which the plan's keys are computed.
func (k *kernelBuilder) group(e *graph.Edge) (*agg.Spec, error) {
	op, stream := e.To, e.Stream
	spec, d, err := deferKeys(op.Op.Group, stream, k.p.partOf(stream))
	if err != nil {
		return nil, err
	}
	if d != nil {
		d.finish(k.p.Streams[stream], k.p.partOf(stream))
	}
	c := k.out.groups[spec]
	if c == nil {
		for numbers, other := range k.out.groups {
			if other.op != op {
				continue
			}
			if other.deferred == nil || !other.deferred.share(numbers, d, stream) {
				return nil, not("a key of several events is computed in ppscript")
			}
			c, spec = other, numbers
		}
	}
	if c == nil {
		c = &kernelGroup{op: op, deferred: d}
		k.out.groups[spec] = c
	}
	return spec, nil
}

// compiled returns an error if a function stays interpreted: no program can evaluate it.
func compiled(p *expr.Program) error {
	if p == nil || p.IsInterpreted() {
		return not("a function stays interpreted")
	}
	return nil
}

// explainKernel writes which operators run in the kernel.
func (p *Placement) explainKernel(b *strings.Builder) {
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
