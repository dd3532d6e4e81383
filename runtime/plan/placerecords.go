package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ppscript/bpf"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/task"
)

// This file decides whether programs send the events, where operators in
// ppscript need them: a program checks the predicates in the kernel, those too
// that its own filters cannot express, and sends just the fields that somebody
// reads. It is all or nothing, since such events are attached to CPUs, whatever
// the target is.
//
// It is done where it pays: for sample members and texts that only programs see, for
// predicates that would let many events through, for a few fields of a large
// record. It is not done, unless asked for, where joins or folds keep state. And
// it is not done where people see whole records, unless they ask for such a sample member:
// the flags of a record (interrupts, preemption) are not made yet when programs
// run.

// fewBytes of a record of fewOf bytes or more, on average, are worth a program.
const (
	fewOf    = 48
	fewBytes = 16
)

// A ProjectionPlan is the programs that send a plan's events.
type ProjectionPlan struct {
	Image *bpf.Image
	// Why says what it is good for.
	Why string
}

// compactor settles whether and how.
type projector struct {
	b     *builder
	part  *bpf.Part
	moved [][]*pred // by event
	whole bool
	why   string
	must  bool // nobody else sees what is read of the events, or it is asked for
}

// records is what programs can send of the events; nil if they cannot, or if it does
// not pay.
func (b *builder) records(evaluated map[*expr.Program]bool) *projector {
	t := &b.env.KernelEnv
	p := b.plan
	switch {
	case b.env.Replay, t.Host == nil, t.No != "":
		return nil
	case t.NoProjection != "":
		p.ProjectionNo = t.NoProjection
		return nil
	}
	c := &projector{b: b, part: &bpf.Part{}}
	err := c.build(evaluated)
	if t.Engine != EngineBPF && len(b.contexts)+len(b.texts) == 0 && (Has[*JoinOp](p) || Has[*FoldOp](p)) {
		// An event that comes while programs are busy is counted as lost, but
		// nobody knows where in a ring: state would not be reset across it.
		return nil
	}
	switch {
	case err != nil && c.why != "":
		p.ProjectionNo = err.Error()
		return nil
	case err != nil:
		return nil
	case t.Engine == EngineBPF:
		c.must = true
		c.why = cmp.Or(c.why, "the engine shall be bpf")
	}
	if c.why == "" {
		return nil
	}
	return c
}

// send replaces the events by what programs send of them.
func (c *projector) send(evaluated map[*expr.Program]bool) error {
	b, p, t := c.b, c.b.plan, &c.b.env.KernelEnv
	im, err := bpf.Generate(c.part, t.Host, t.Target)
	if err != nil {
		p.ProjectionNo = err.Error()
		return err
	}
	p.Projection = &ProjectionPlan{Image: im, Why: c.why}
	moved := slices.Concat(c.moved...)
	for _, m := range moved {
		evaluated[m.prog] = true
	}
	b.without(moved)
	for _, u := range b.contexts {
		evaluated[u.prog] = true // it is sent, or was checked
	}
	for _, u := range b.texts {
		evaluated[u.prog] = true
	}
	for i, e := range p.Events {
		e.Filter, e.Native, e.NativeText = "", nil, ""
		e.Sent = c.sent(i)
	}
	return nil
}

// sent says what is sent of an event.
func (c *projector) sent(i int) string {
	send := c.part.Edges[i].Send
	var names []string
	for _, n := range send.Fields {
		names = append(names, n.F.Name)
	}
	for _, n := range send.Texts {
		names = append(names, "the text at "+short(n))
	}
	text := "its record"
	if !send.Whole {
		text = "no field"
	}
	if len(names) > 0 && send.Whole {
		text += " and "
	}
	if len(names) > 0 {
		text = strings.TrimPrefix(text, "no field") + strings.Join(names, ", ")
	}
	var preds []string
	for _, p := range c.moved[i] {
		preds = append(preds, p.text)
	}
	if len(preds) > 0 {
		text += ", if " + strings.Join(preds, " && ")
	}
	return text
}

func (c *projector) build(evaluated map[*expr.Program]bool) error {
	b := c.b
	if err := b.sendable(); err != nil {
		return err
	}
	c.whole = b.plan.sees().records
	for _, u := range b.contexts {
		if !evaluated[u.prog] {
			c.why, c.must = "only programs see "+u.name, true
		}
	}
	if len(b.texts) > 0 && c.why == "" {
		c.why, c.must = "only programs see texts of processes", true
	}
	for _, e := range b.plan.Events {
		ev, err := b.kernelEvent(e)
		if err != nil {
			return err
		}
		edge := &bpf.Edge{Name: e.Stream.Label, Stream: e.Stream.Index, Send: &bpf.Record{Whole: c.whole}}
		var moved []*pred
		for _, p := range b.common(e) {
			if p.prog.Node == nil || !expr.Pure(p.prog.Node) || !c.runs(ev, p.prog.Node) {
				continue
			}
			edge.Preds = append(edge.Preds, p.prog.Node)
			moved = append(moved, p)
			if _, rest, _ := expr.KernelFilter(p.prog.Node); rest != nil && c.why == "" && !c.whole {
				c.why = "the kernel's filters cannot express " + p.text
			}
		}
		c.part.Events, c.part.Edges = append(c.part.Events, ev), append(c.part.Edges, edge)
		c.moved = append(c.moved, moved)
	}
	return c.fields(evaluated)
}

// runs reports that a program can check a predicate.
func (c *projector) runs(ev *bpf.Event, n expr.Node) bool {
	return bpf.Can(n, ev, c.b.env.KernelEnv.Host) == nil
}

// What several operators say of projected records.
const (
	notOnlyTracepoints = "there is more than tracepoints"
	sentElsewhere      = "events are sent elsewhere, or come from there"
)

// sendable checks that programs can stand for all events.
func (b *builder) sendable() error {
	p := b.plan
	if len(p.Events) == 0 {
		return not(notOnlyTracepoints)
	}
	if p.Pulls() {
		return not(sentElsewhere)
	}
	for _, op := range p.Operators {
		if why := op.notSent(); why != "" {
			return not("%s", why)
		}
	}
	if p.Overwrite {
		return not("the newest events are kept in rings")
	}
	for _, e := range p.Events {
		switch s := e.Source; {
		case s.Kind != Tracepoint || s.Probe != nil:
			return not("%s is not a tracepoint", e.Stream.Label)
		case s.Period > 1 || s.Freq > 0 || strings.HasPrefix(s.Name, "sched_stat_"):
			return not("%s is sampled", e.Stream.Label)
		case s.Stack || e.Stack != nil:
			return not("%s has stacks", e.Stream.Label)
		case s.Exclude != Exclude{}:
			return not("%s excludes user or kernel", e.Stream.Label)
		}
	}
	return nil
}

// fields settles what is sent of each event.
func (c *projector) fields(evaluated map[*expr.Program]bool) error {
	b := c.b
	want := map[*event.Field]bool{}
	contexts := map[*event.Field]bool{}
	named := Has[*LogOp](b.plan) // a line says whose event it is
	var err error
	for _, p := range b.programs {
		if evaluated[p] || c.isMoved(p) {
			continue
		}
		expr.Walk(p.Node, func(n expr.Node) bool {
			switch n := n.(type) {
			case *expr.Field:
				switch place := n.F.Place; {
				case place == event.InMember && n.F.Member.OfContext():
					contexts[n.F] = true
				case place == event.InMember && n.F.Member == event.MemberComm:
					named = true
				case place == event.InMember:
					if n.F.Member == event.MemberPeriod || n.F.Member == event.MemberMode ||
						n.F.Member == event.MemberCallchain {
						err = not("%s is not sent", n.F.Name)
					}
				case place == event.InSlot:
				case n.View != expr.ViewValue:
					c.whole = true
				default:
					want[n.F] = true
				}
			case *expr.Mem, *expr.CStr, *expr.MemBytes:
				c.whole = true
			case *expr.Native:
				switch {
				case n.Is(expr.AsksThreads):
					err = not("the script tells by itself which threads it is about")
				case n.Is(expr.ReadsRecord):
					for _, f := range namedBy(n) {
						want[f.F] = true
					}
				}
			}
			return true
		})
	}
	names, exact := b.readByScripts()
	c.whole = c.whole || !exact
	for _, j := range Of[*JoinOp](b.plan) {
		for i := range j.js.In {
			in := &j.js.In[i]
			if w := in.Wakeup; w != nil {
				want[w.PID] = true
				if w.CPU != nil {
					want[w.CPU] = true
				}
			}
			if in.NextPID != nil {
				want[in.NextPID] = true
			}
		}
		c.whole = c.whole || j.around != nil
	}
	if err == nil {
		err = c.texts(evaluated)
	}
	if err != nil {
		return err
	}
	size, sent := 0, 0
	for i, ev := range c.part.Events {
		if named {
			// A thread that was there before may have ended when its name
			// is asked for: then nothing but its events tells it.
			for _, f := range task.Tells(ev.Schema) {
				want[f] = true
			}
		}
		r := c.part.Edges[i].Send
		r.Whole = c.whole
		for f := range contexts {
			if !carries(ev.Schema, f.Member) || !c.whole {
				r.Fields = append(r.Fields, &expr.Field{F: f})
			}
		}
		for k := range ev.Schema.Fields {
			f := &ev.Schema.Fields[k]
			if !r.Whole && (want[f] || slices.Contains(names, f.Name)) {
				r.Fields = append(r.Fields, &expr.Field{F: f})
				sent += f.Size
			}
		}
		slices.SortStableFunc(r.Fields, func(a, b *expr.Field) int {
			return strings.Compare(a.F.Name, b.F.Name)
		})
		size += ev.Schema.Size
	}
	if n := len(c.part.Events); !c.whole && size >= fewOf*n && sent <= fewBytes*n && c.why == "" {
		c.why = "few fields of large records are read"
	}
	if c.whole && !c.must {
		return errors.New("whole records are wanted")
	}
	return nil
}

func (c *projector) isMoved(p *expr.Program) bool {
	return slices.ContainsFunc(slices.Concat(c.moved...), func(m *pred) bool { return m.prog == p })
}

// readByScripts are the names that interpreted functions read; exact is false
// if that is not known.
func (b *builder) readByScripts() (names []string, exact bool) {
	var all []any
	for _, c := range b.calls {
		all = append(all, c)
	}
	for _, x := range append(all, b.machines...) {
		r, ok := x.(Reader)
		if !ok {
			return nil, false
		}
		some, exact := r.Reads()
		if !exact {
			return nil, false
		}
		names = append(names, some...)
	}
	return names, true
}

func (p *Plan) explainProjection(b *strings.Builder) {
	switch {
	case p.Projection != nil:
		fmt.Fprintf(b, "projected records since %s\n", p.Projection.Why)
		for i := range p.Projection.Image.Programs {
			prog := &p.Projection.Image.Programs[i]
			fmt.Fprintf(b, "                %s: %s, %d instructions\n", prog.Label, prog.Where(),
				len(prog.Ins))
		}
	case p.ProjectionNo != "":
		fmt.Fprintf(b, "projected records cannot be sent: %s\n", p.ProjectionNo)
	}
}
