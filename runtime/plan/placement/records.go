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
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/target/task"
)

// This file decides whether programs send the events, where operators in
// ppscript need them: a program checks the predicates in the kernel, those too
// that its own filters cannot express, and sends just the fields that somebody
// reads. It is all or nothing, since such events are attached to CPUs, whatever
// the target is.
//
// It is done where it pays: for sample members and texts that only programs see, for
// predicates that would let many events through, for a few fields of a large record. It is
// not done, unless asked for, in front of joins and folds. Nor is it done where whole
// records are shown, unless the user asks for such a sample member, or perf would not get
// them: the kernel sets the flags of a record (interrupts, preemption) only after programs
// have run.

// It pays to send fewBytes or less of a record that has fewOf bytes or more, on
// average.
const (
	fewOf    = 48
	fewBytes = 16
)

// A ProjectionPlan is the programs that send a plan's events.
type ProjectionPlan struct {
	Image *bpf.Image
	// Why is the reason for explain: what makes projection pay.
	Why string
}

// A projector decides whether programs send the events, and which fields.
type projector struct {
	p     *Placer
	part  *bpf.Part
	moved [][]*graph.Pred // by event
	whole bool
	why   string
	must  bool // only programs can read some of the data, or the user asks for it
	// beside says that the events are sent beside what operators make of them (sentevents.go).
	beside bool
}

// records describes the records that programs send of the events; nil if they
// cannot, or if it does not pay.
func (p *Placer) records() *projector {
	t := p.env
	switch {
	case p.replay, t.Host == nil, t.No != "":
		return nil
	case t.NoProjection != "":
		p.out.ProjectionNo = t.NoProjection
		return nil
	}
	hidden := p.hidden()
	c := &projector{p: p, part: &bpf.Part{}, must: len(hidden) > 0}
	err := c.build()
	var unseen []string
	if err == nil {
		unseen = p.unseen()
	}
	wanted := len(unseen)+len(hidden) > 0 || len(p.Reads.Contexts)+len(p.Reads.Texts) > 0
	if t.Engine != EngineBPF && !wanted && p.keepsState() {
		// An event that comes while programs are busy is counted as lost, but
		// its place among the others is not known, so that a join could not
		// reset its state there.
		return nil
	}
	switch {
	case err != nil && c.why != "":
		p.out.ProjectionNo = err.Error()
		return nil
	case err != nil:
		return nil
	case t.Engine == EngineBPF:
		c.must = true
		c.why = cmp.Or(c.why, "the engine shall be bpf")
	case len(unseen) > 0:
		c.must = true
		c.why = cmp.Or(c.why, "perf does not deliver all of the idle task of "+strings.Join(unseen, "; "))
	case len(hidden) > 0:
		c.why = cmp.Or(c.why, "BPF programs of other tools hide from perf "+strings.Join(hidden, "; "))
	}
	if c.why == "" {
		return nil
	}
	return c
}

// keepsState reports that there are joins or folds.
func (p *Placer) keepsState() bool {
	return slices.ContainsFunc(p.Nodes, func(n *graph.Node) bool { return n.Op != nil && n.Op.Stateful })
}

// send replaces the events by projected ones.
func (c *projector) send() error {
	p := c.p
	im, err := bpf.Generate(c.part, p.env.Host, p.env.Target)
	if err != nil {
		p.out.ProjectionNo = err.Error()
		return err
	}
	p.out.Projection = &ProjectionPlan{Image: im, Why: c.why}
	moved := slices.Concat(c.moved...)
	for _, m := range moved {
		p.evaluated[m.Prog] = true
	}
	p.move(moved)
	for _, u := range p.Reads.Contexts {
		p.evaluated[u.Prog] = true // it is sent, or was checked
	}
	for _, u := range p.Reads.Texts {
		p.evaluated[u.Prog] = true
	}
	for i := range p.Events {
		p.openings[i].Projection = c.sentText(i)
	}
	return nil
}

// sentText describes, for explain, the parts of an event that are sent.
func (c *projector) sentText(i int) string {
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
		preds = append(preds, p.Text)
	}
	if len(preds) > 0 {
		text += ", if " + strings.Join(preds, " && ")
	}
	return text
}

func (c *projector) build() error {
	p := c.p
	if no := cmp.Or(p.Unsent, p.Stacked); no != "" {
		return not("%s", no)
	}
	c.whole = p.seeRecords()
	for _, u := range p.Reads.Contexts {
		switch {
		case p.evaluated[u.Prog]:
		case u.Optional:
			c.why = cmp.Or(c.why, "only programs see "+u.Name)
		default:
			c.why, c.must = "only programs see "+u.Name, true
		}
	}
	if len(p.Reads.Texts) > 0 && c.why == "" {
		c.why, c.must = "only programs see texts of processes", true
	}
	for _, e := range p.Events {
		if !e.Known() {
			return e.Err
		}
		if e.Decides {
			return not("%s is not a tracepoint", e.Label)
		}
		edge := &graph.Edge{Name: e.Label, Stream: e.Stream, Send: &graph.Record{Whole: c.whole}}
		for _, pred := range p.common(e) {
			node := pred.Prog.Node
			if node == nil || !expr.Pure(node) || !c.runs(e, node) {
				continue
			}
			edge.Preds = append(edge.Preds, pred)
			_, rest, _ := expr.KernelFilter(node)
			if c.why == "" && (e.OfProbe() || rest != nil && !c.whole) {
				c.why = "the kernel's filters cannot express " + pred.Text
			}
		}
		c.part.Events, c.part.Edges = append(c.part.Events, e), append(c.part.Edges, edge)
		c.moved = append(c.moved, edge.Preds)
	}
	return c.fields()
}

// runs reports that a program can check a predicate.
func (c *projector) runs(ev *graph.Event, n expr.Node) bool {
	return bpf.Can(n, ev, c.p.env.Host) == nil
}

// fields decides which fields are sent of each event.
func (c *projector) fields() error {
	pl := c.p
	want := map[*event.Field]bool{}
	contexts := map[*event.Field]bool{}
	named := pl.Lines // a line shows thread and process
	var err error
	for _, p := range pl.Reads.Programs {
		if pl.evaluated[p] || c.isMoved(p) {
			continue
		}
		if p.Uses.Any(expr.AsksThreads) {
			err = not("the script tells by itself which threads it is about")
		}
		eachRead(p.Node, func(f *expr.Field) {
			switch place := f.F.Place; {
			case f.F.Read != nil: // see reads
			case place == event.InMember && f.F.Member.OfContext():
				contexts[f.F] = true
			case place == event.InMember && (f.F.Member == event.MemberCgroup || f.F.Member.OfCgroup()):
				contexts[cgroupID] = true
			case place == event.InMember &&
				(f.F.Member == event.MemberComm || f.F.Member == event.MemberCommNoDigit):
				named = true
			case place == event.InMember && f.F.Member.OfRegister():
				want[f.F] = true
			case place == event.InMember:
				if f.F.Member == event.MemberPeriod || f.F.Member == event.MemberMode ||
					f.F.Member == event.MemberCallchain {
					err = not("%s is not sent", f.F.Name)
				}
			case place == event.InSlot:
			case f.View != expr.ViewValue, f.F.Kind == event.Array:
				c.whole = true
			default:
				want[f.F] = true
			}
		}, func(expr.Part, bool) { c.whole = true })
	}
	c.whole = c.whole || !pl.Reads.Exact
	for _, j := range pl.joins() {
		for i := range j.Join.In {
			in := &j.Join.In[i]
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
		c.whole = c.whole || j.Around
	}
	if err == nil {
		err = c.texts()
	}
	if err == nil {
		err = c.reads()
	}
	if err != nil {
		return err
	}
	size, sent := 0, 0
	for i, ev := range c.part.Events {
		if named {
			// A thread that ran before ppscript may have ended when its name is
			// looked up. Then only its events have the name.
			for _, f := range task.Tells(ev.Schema) {
				want[f] = true
			}
		}
		r := c.part.Edges[i].Send
		r.Whole = c.whole && ev.Probe == nil
		for f := range contexts {
			if !Carries(ev.Schema, f.Member) || !c.whole {
				r.Fields = append(r.Fields, &expr.Field{F: f})
			}
		}
		for k := range ev.Schema.Fields {
			f := &ev.Schema.Fields[k]
			all := c.whole && ev.Probe != nil
			if !r.Whole && f.Operand() != nil && f.Operand().Constant() {
				continue // it is the same for all
			}
			if all && f.Place == event.InRaw && f.Size < 4 {
				r.Context = true // common_flags and the like
				continue
			}
			if all || want[f] || slices.Contains(pl.Reads.Names, f.Name) {
				if addr := addressOf(f); addr != nil {
					r.Fields = append(r.Fields, addr)
					addText(r, addr)
					c.why = cmp.Or(c.why, "a program reads "+f.Name+" as the event happens")
					continue
				}
			}
			if all && f.Place == event.InMember && f.Member.OfRegister() && f.Kind == event.Int {
				for _, w := range registersOf([]*event.Field{f}) {
					r.Fields = addWord(r.Fields, &expr.Field{F: w})
				}
				continue
			}
			if !r.Whole && (all || want[f] || slices.Contains(pl.Reads.Names, f.Name)) {
				r.Fields = append(r.Fields, &expr.Field{F: f})
				sent += f.Size
				continue
			}
			for n := 0; !r.Whole; n++ {
				element, ok := ev.Schema.Element(f, n)
				if !ok {
					break
				}
				if want[element] {
					r.Fields = append(r.Fields, &expr.Field{F: element})
					sent += element.Size
				}
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
	if c.whole && !c.must &&
		slices.ContainsFunc(pl.Events, func(e *graph.Event) bool { return !e.OfProbe() }) {
		return errors.New("whole records are wanted")
	}
	return c.context()
}

// context leaves out the context of probes where it must be and programs do not see it.
func (c *projector) context() error {
	err := c.part.Can(c.p.env.Host, c.p.env.Target)
	if err == nil || !c.must {
		return err
	}
	for _, e := range c.part.Edges {
		e.Send.Context = false
	}
	return nil
}

// addressOf is the address of a probe's argument that is a text of the process; nil for
// other fields.
func addressOf(f *event.Field) *expr.Field {
	if f.Place != event.InMember || !f.Member.OfProbe() || f.Kind != event.Str || f.Operand() == nil {
		return nil
	}
	address := *f
	address.Kind, address.Size, address.Signed = event.Int, 8, false
	return &expr.Field{F: &address}
}

func (c *projector) isMoved(p *expr.Program) bool {
	return slices.ContainsFunc(slices.Concat(c.moved...), func(m *graph.Pred) bool { return m.Prog == p })
}

func (p *Placement) explainProjection(b *strings.Builder) {
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
