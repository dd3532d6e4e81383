package placement

import (
	"cmp"
	"fmt"
	"slices"

	"ppscript/bpf"
	"ppscript/bpf/state"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/target/task"
)

// This file lets the cut go behind a join or a fold: programs relate the events, keep
// states and count, and send pairs and emitted events that pass the predicates common
// to all their readers. A reader in ppscript gets them as if the join or fold ran
// here (runtime/plan/arrivals.go).
//
// A sent pair has the fields of both events that some reader uses; a line uses all. Texts of
// variable length, and texts of a process that a probe's argument points to, may be cut in a line,
// which then shows dots. An operator that computes with such a text takes it from an event that is
// sent whole (textsFit). The stacks of both events are sent too.

// A pairSender decides which fields programs send with pairs and with emitted
// events.
type pairSender struct {
	p     *Placer
	parts []*sentPairs
	reads *pairReads
}

// sentPairs describes the records for one stream of pairs. end is nil for unpaired
// events. start and end are nil for emitted events, of which all values are sent.
type sentPairs struct {
	edge  *graph.Edge
	moved []*graph.Pred // that programs check
	start *event.Schema
	end   *event.Schema
	event *graph.Event // nil unless it is an event itself (sentevents.go)
}

// pairs describes the output of joins and folds that programs can send to operators
// in ppscript; nil if they cannot, with the reason, or if there is none.
func (p *Placer) pairs() (*pairSender, string) {
	no := cmp.Or(p.env.NoProjection, p.env.NoKernel, p.Unsent)
	switch {
	case p.collected == nil:
		return nil, p.all
	case no != "":
		return nil, no
	case p.Newest:
		return nil, "the newest events are kept in rings"
	}
	if no := p.sampled(); no != "" {
		return nil, no
	}
	for _, u := range p.Reads.Contexts {
		if !u.Text && !u.Optional { // see texts, and kernelBuilder.keep
			return nil, u.Name + " is not sent with what it makes"
		}
	}
	for stream := range p.Reads.Asks {
		if !p.opened(stream) {
			return nil, "whom its events are about is asked in ppscript"
		}
	}
	s := &pairSender{p: p}
	for _, n := range p.Nodes {
		if n.Op == nil || n.Refusal != "" {
			continue
		}
		if f := n.Op.Fold; f != nil && f.Out != nil {
			part := s.add(f.Out)
			if part != nil {
				part.edge.Send.FoldContext = f.Begin > 0
			}
			if part != nil && f.Flush != nil {
				part.moved = nil // ppscript runs the flush function, and checks its output
			}
		}
		if n.Op.Join == nil {
			continue
		}
		for start, ends := range n.Op.Join.Pairs {
			for end, st := range ends {
				if st == nil {
					continue
				}
				part := s.add(st)
				if part == nil {
					continue
				}
				part.start, part.end = p.Streams[start].Schema, p.Streams[end].Schema
				if !s.fields(n.Op.Join.In[end].Key, part) {
					return nil, "a pair is not sent with what is read of its events"
				}
			}
		}
		for source, st := range n.Op.Join.Streams {
			if st == nil {
				continue
			}
			part := s.add(st)
			if part == nil {
				continue
			}
			if why := p.doubtful(n); why != "" {
				return nil, why
			}
			// ppscript gets everything that passes, and also the events that still
			// wait at the end.
			part.edge.Preds, part.edge.Bound, part.moved = nil, nil, nil
			part.start = p.Streams[source].Schema
			if !s.fields(n.Op.Join.In[source].Key, part) {
				return nil, "an event without a partner is not sent with what is read of it"
			}
		}
	}
	if why := cmp.Or(s.texts(), s.beside()); why != "" {
		return nil, why
	}
	if len(s.parts) == 0 {
		return nil, "nobody who runs here reads what a program could send"
	}
	return s, ""
}

// doubtful names an event of a join that programs may miss without notice: an event
// without a partner may then have had one. The native engine misses only events that
// the ring reports as lost.
func (p *Placer) doubtful(n *graph.Node) string {
	if p.env.Engine != EngineAuto {
		return ""
	}
	for _, e := range p.Edges {
		from := e.From
		switch {
		case e.To != n:
		case from.Event == nil:
			if why := p.doubtful(from); why != "" {
				return why
			}
		case !state.InTask(from.Event):
			return "programs may miss " + from.Name + ", so that its partner would seem to have none"
		}
	}
	return ""
}

// texts adds to pairs the texts of starts that operators in ppscript read.
func (s *pairSender) texts() (why string) {
	for _, u := range s.p.Reads.Texts {
		if s.p.evaluated[u.Prog] || !s.p.readOutside(u.Stream) {
			continue
		}
		i := slices.IndexFunc(s.parts, func(p *sentPairs) bool {
			return p.edge.Stream == u.Stream && p.start == u.Schema && p.end != nil
		})
		if i < 0 || expr.UserTextPart(u.Native) != expr.Start {
			return u.Native.Name + "() is not of the start of a pair that programs send"
		}
		addText(s.parts[i].edge.Send, expr.Rebind(u.Native.Args[0], expr.Start, expr.Self))
	}
	return ""
}

// sampled names a software event that is not only kept around pairs: programs that send cannot be
// called by it.
func (p *Placer) sampled() string {
	for _, e := range p.Edges {
		from, op := e.From, e.To.Op
		if from.Event == nil || !from.Event.Decides {
			continue
		}
		if op == nil || op.Join == nil || op.KernelRefusal != "" || !op.Explained ||
			op.Join.In[e.Stream].Stage >= 0 {
			return from.Name + " is not a tracepoint"
		}
	}
	return ""
}

// opened reports that a stream is of an event to open.
func (p *Placer) opened(stream int) bool {
	return slices.ContainsFunc(p.Events, func(e *graph.Event) bool { return e.Stream == stream })
}

// add adds the events of a stream if an operator in ppscript reads them; else
// it returns nil.
func (s *pairSender) add(st *event.Stream) *sentPairs {
	p := s.p
	readers := p.outside(st.Index)
	if len(readers) == 0 {
		return nil
	}
	part := &sentPairs{edge: &graph.Edge{Name: st.Label, Stream: st.Index, Send: &graph.Record{}}}
	for _, pred := range readers[0].Unchecked() {
		others := slices.ContainsFunc(readers, func(e *graph.Edge) bool {
			return !slices.Contains(e.Preds, pred)
		})
		node := pred.Prog.Node
		if others || pred.Stateful() || node == nil || pred.Prog.IsInterpreted() || !expr.Pure(node) {
			break // operators behind it read its output
		}
		part.edge.Preds, part.moved = append(part.edge.Preds, pred), append(part.moved, pred)
	}
	if bound := readers[0].Bound; bound != nil && len(readers) == 1 {
		part.edge.Bound = bound
	}
	s.parts = append(s.parts, part)
	return part
}

// The systems of events that joins and folds make.
const (
	madePair   = "pair"
	madeByFold = "fold"
)

// fields decides which fields are sent of the two events of a pair, or of an unpaired
// event, which counts as a start; false if programs cannot send them.
func (s *pairSender) fields(key *expr.Program, p *sentPairs) bool {
	if s.reads == nil {
		s.reads = s.p.pairReads()
	}
	// For pairs of pairs, programs do not send the inner events.
	made := p.start != nil && (p.start.System == madePair || p.end != nil && p.end.System == madePair ||
		p.start.System == madeByFold || p.end != nil && p.end.System == madeByFold)
	// The key of a pair is computed of its end.
	if made && s.reads.inside || key.Node == nil {
		return false
	}
	eachRead(key.Node, s.reads.add, func(expr.Part, bool) { s.reads.possible = false })

	reads := &s.p.Reads
	all, named, possible := s.reads.all, s.reads.named, s.reads.possible
	want, context := s.reads.want, s.reads.context
	send := p.edge.Send
	send.Context, send.Stacks = all && context, s.p.Stacked != "" && p.start != nil
	for part, schema := range map[expr.Part]*event.Schema{expr.Start: p.start, expr.End: p.end} {
		if schema == nil {
			continue
		}
		if named {
			for _, f := range task.Tells(schema) {
				want[f] = true
			}
		}
		for i := range schema.Fields {
			f := &schema.Fields[i]
			switch {
			case !all && !want[f] && !slices.Contains(reads.Names, f.Name):
			case f.Name == "common_flags" || f.Name == "common_preempt_count":
				send.Context = send.Context || want[f] || slices.Contains(reads.Names, f.Name)
			case f.Name == "common_type" || f.Name == "common_pid":
			case f.Place == event.InMember && f.Operand() != nil && f.Operand().Constant():
			case f.Place == event.InMember && f.Member.OfRegister():
				words, ok := wordsOf(f)
				if all {
					words = registersOf(words)
				}
				for _, w := range words {
					send.Fields = addWord(send.Fields, &expr.Field{F: w, Part: part})
				}
				possible = possible && ok
			case f.Place == event.InMember || f.Place == event.InSlot:
			default:
				send.Fields = append(send.Fields, &expr.Field{F: f, Part: part})
			}
		}
	}
	slices.SortStableFunc(send.Fields, func(a, b *expr.Field) int {
		if a.Part != b.Part {
			return int(a.Part) - int(b.Part)
		}
		return a.F.Offset - b.F.Offset
	})
	return possible
}

// wordsOf lists the fields that are sent for an argument of a probe, or for a register.
// For a text of the process these include the registers, so that ppscript can read the
// text later if it was not in memory. It is false if nothing can be sent.
func wordsOf(f *event.Field) ([]*event.Field, bool) {
	switch o := f.Operand(); {
	case f.Kind == event.Int && (o != nil || !f.Member.OfProbe()):
		return []*event.Field{f}, true
	case f.Kind != event.Str || o == nil || o.Load > 0:
		return nil, false
	}
	if o := f.Operand(); o.Constant() {
		return nil, true
	}
	regs := []*event.Field{f}
	for _, r := range f.Operand().Regs {
		regs = append(regs, &event.Field{Name: f.Name, Type: "u64", Place: event.InMember, Size: 8,
			Member: event.MemberReg + event.Member(r.Reg)})
	}
	return regs, true
}

// registersOf replaces numbers that are computed from registers alone by these registers.
// Registers are the same for all functions, so that one program can serve many. The numbers are
// computed when the events are shown.
func registersOf(words []*event.Field) (list []*event.Field) {
	register := func(m event.Member) {
		list = append(list, &event.Field{Name: fmt.Sprintf("register %d", m-event.MemberReg), Type: "u64",
			Place: event.InMember, Size: 8, Member: m})
	}
	for _, f := range words {
		switch o := f.Operand(); {
		case !f.Member.OfProbe():
			register(f.Member)
		case f.Kind == event.Int && o != nil && o.Load == 0 && len(o.Regs) > 0:
			for _, r := range o.Regs {
				register(event.MemberReg + event.Member(r.Reg))
			}
		default:
			list = append(list, f)
		}
	}
	return list
}

// addWord adds a number to the numbers that are sent, if it is not there yet.
func addWord(list []*expr.Field, w *expr.Field) []*expr.Field {
	if slices.ContainsFunc(list, func(f *expr.Field) bool {
		return f.Part == w.Part && f.F.Place == w.F.Place && f.F.Member == w.F.Member
	}) {
		return list
	}
	return append(list, w)
}

// foreseen reports that the readers of sent pairs in ppscript are the expected ones.
// They are not if the cut left an operator outside that could have run in the
// kernel.
func (s *pairSender) foreseen() bool {
	p := s.p
	return !slices.ContainsFunc(p.Edges, func(e *graph.Edge) bool {
		sent := slices.ContainsFunc(s.parts, func(p *sentPairs) bool { return p.edge.Stream == e.Stream })
		return sent && !e.To.InKernel && e.To.Refusal == ""
	})
}

// rooms is the cost of sending pairs, by stream, in bytes for each event of the
// sources.
func (s *pairSender) rooms() map[int]float64 {
	rooms := map[int]float64{}
	for _, p := range s.parts {
		rooms[p.edge.Stream] = s.p.sentBytes(p.edge)
	}
	return rooms
}

// behind generates the programs for the operators in the kernel, which send the pairs
// that leave it. Predicates that these programs check are removed from the readers in
// ppscript.
func (s *pairSender) behind() (*Kernel, error) {
	p := s.p
	t, k := p.env, p.collected
	part := &bpf.Part{Events: k.part.Events, Intervals: t.Intervals, Counted: t.Counted,
		KeptBytes: k.part.KeptBytes}
	for _, n := range p.Nodes {
		if n.Op == nil || !n.InKernel {
			continue
		}
		for _, e := range p.Into(n) {
			k.bring(part, e.Stream, n)
		}
	}
	for _, sent := range s.parts {
		part.Edges = append(part.Edges, sent.edge)
	}
	// Texts in pairs are cut at some length; texts in events are whole.
	fits := p.wholeText
	if slices.ContainsFunc(s.parts, func(p *sentPairs) bool { return p.event == nil }) {
		fits = longText
	}
	if err := p.textsFit(fits); err != nil {
		return nil, err
	}
	image, err := bpf.Generate(part, t.Host, t.Target)
	if err != nil {
		return nil, refusal(err)
	}
	k.out.Image, k.out.sends = image, true
	var moved []*graph.Pred
	for _, sent := range s.parts {
		moved = append(moved, sent.moved...)
	}
	p.beside(s.parts)
	p.move(moved)
	return k.out, nil
}
