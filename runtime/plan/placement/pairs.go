package placement

import (
	"cmp"
	"fmt"
	"slices"

	"ppscript/bpf"
	"ppscript/bpf/state"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/record/sent"
	"ppscript/runtime/target/task"
)

// This file lets the cut go behind a join or a fold: programs relate the events, keep
// states, count what they can, and send the pairs, and what folds emit, for which the
// predicates hold that all who read them have. Who reads them in ppscript gets them as
// if the join, or the fold, ran here (runtime/plan/arrivals.go).
//
// A pair has the fields of both events that somebody reads, which for a line are all
// of them. A text whose place only the record tells, and one of the process that is the
// argument of a probe, may be cut for a line, which shows that; who computes with it has it
// of the event itself, which is not cut (textsFit). The stacks of its events come with it.
// Arrays of another form stay with events that are sent themselves.

// A pairSender settles what programs send of pairs, and of what folds emit.
type pairSender struct {
	p     *Placer
	parts []*sentPairs
	seen  *seen
}

// sentPairs are the pairs of one stream; end is nil if it is of events without a partner,
// and start too if a fold emits it: then all of its values are sent.
type sentPairs struct {
	edge  *bpf.Edge
	moved []*Pred // that programs check
	start *event.Schema
	end   *event.Schema
	event *Event // nil unless it is an event itself (beside.go)
}

// pairs is what programs can send of what operators make and others outside read; nil
// if they cannot, or if there is none, and why.
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
	for _, n := range p.nodes {
		if n.op == nil || n.no != "" {
			continue
		}
		if f := n.op.Fold; f != nil && f.Out != nil {
			part := s.add(f.Out)
			if part != nil {
				part.edge.Send.Around = f.Begin > 0
			}
			if part != nil && f.Flush != nil {
				part.moved = nil // what the flush function emits is made, and checked, here
			}
		}
		if n.op.Join == nil {
			continue
		}
		for start, ends := range n.op.Join.Pairs {
			for end, st := range ends {
				if st == nil {
					continue
				}
				part := s.add(st)
				if part == nil {
					continue
				}
				part.start, part.end = p.Streams[start].Schema, p.Streams[end].Schema
				if !s.fields(n.op.Join.In[end].Key, part) {
					return nil, "a pair is not sent with what is read of its events"
				}
			}
		}
		for source, st := range n.op.Join.Left {
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
			// All that it lets through ppscript gets, and what waits in the end too.
			part.edge.Preds, part.moved = nil, nil
			part.start = p.Streams[source].Schema
			if !s.fields(n.op.Join.In[source].Key, part) {
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

// doubtful tells of an event of a join that programs may miss: what has no partner then
// may have had one. Natively nothing is missed but what is told, in its place.
func (p *Placer) doubtful(n *node) string {
	if p.env.Engine != EngineAuto {
		return ""
	}
	for _, e := range p.Edges {
		from := p.nodes[e.From]
		switch {
		case p.nodes[e.To] != n:
		case from.event == nil:
			if why := p.doubtful(from); why != "" {
				return why
			}
		case !state.InTask(from.event.Program):
			return "programs may miss " + from.name + ", so that its partner would seem to have none"
		}
	}
	return ""
}

// texts has the texts of starts sent with their pairs, that somebody outside reads.
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

// sampled tells of an event of the software that is more than kept: who sends opens none on the target.
func (p *Placer) sampled() string {
	for _, e := range p.Edges {
		from, to := p.nodes[e.From], p.nodes[e.To]
		if from.event == nil || !from.event.Samples {
			continue
		}
		if to.op == nil || to.op.Join == nil || !to.op.Explained || to.op.Join.In[e.Stream].Stage >= 0 {
			return from.name + " is not a tracepoint"
		}
	}
	return ""
}

// opened reports that a stream is of an event to open.
func (g *Graph) opened(stream int) bool {
	return slices.ContainsFunc(g.Events, func(e *Event) bool { return e.Stream.Index == stream })
}

// add adds the events of a stream, if somebody outside reads them; else nil.
func (s *pairSender) add(st *event.Stream) *sentPairs {
	p := s.p
	readers := p.outside(st)
	if len(readers) == 0 {
		return nil
	}
	part := &sentPairs{edge: &bpf.Edge{Name: st.Label, Stream: st.Index, Send: &bpf.Record{}}}
	for _, pred := range readers[0].Preds {
		others := slices.ContainsFunc(readers, func(e *Edge) bool {
			return !slices.Contains(e.Preds, pred)
		})
		node := pred.Prog.Node
		if others || pred.Keeps || node == nil || pred.Prog.IsInterpreted() || !expr.Pure(node) {
			break // those behind it see what it lets through
		}
		part.edge.Preds, part.moved = append(part.edge.Preds, node), append(part.moved, pred)
	}
	if bound := readers[0].Bound; bound != nil && len(readers) == 1 {
		part.edge.Preds = append(part.edge.Preds, bound)
	}
	s.parts = append(s.parts, part)
	return part
}

// The systems of events that joins and folds make.
const (
	madePair   = "pair"
	madeByFold = "fold"
)

// fields settles what is sent of the two events of a pair, or of one without a partner,
// which is a start then; false if that cannot be.
func (s *pairSender) fields(key *expr.Program, p *sentPairs) bool {
	if s.seen == nil {
		s.seen = s.p.seen()
	}
	// Of pairs within pairs programs send no events.
	made := p.start != nil && (p.start.System == madePair || p.end != nil && p.end.System == madePair ||
		p.start.System == madeByFold || p.end != nil && p.end.System == madeByFold)
	// The key of a pair is computed of its end.
	if made && s.seen.inside || key.Node == nil {
		return false
	}
	eachRead(key.Node, s.seen.add, func(expr.Part, bool) { s.seen.possible = false })

	reads := &s.p.Reads
	all, named, possible := s.seen.all, s.seen.named, s.seen.possible
	want, context := s.seen.want, s.seen.context
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

// wordsOf is what is sent of an argument of a probe, or of a register: of a text of the
// process also the registers, by which it is read where it is looked at if it was not in
// memory, as with the whole sample. It is false if there is nothing.
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

// registersOf are words with registers in place of the numbers that are computed of these alone.
// All functions have the same ones, whatever their arguments are called, so that one program can
// serve many. Who shows the events computes the numbers.
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

// addWord adds a number to those that are sent, if it is not there yet.
func addWord(list []*expr.Field, w *expr.Field) []*expr.Field {
	if slices.ContainsFunc(list, func(f *expr.Field) bool {
		return f.Part == w.Part && f.F.Place == w.F.Place && f.F.Member == w.F.Member
	}) {
		return list
	}
	return append(list, w)
}

// foreseen reports that the pairs that leave have all those as readers for whom they
// were settled: who could be in the kernel may have been left outside.
func (s *pairSender) foreseen() bool {
	p := s.p
	return !slices.ContainsFunc(p.Edges, func(e *Edge) bool {
		sent := slices.ContainsFunc(s.parts, func(p *sentPairs) bool { return p.edge.Stream == e.Stream })
		return sent && !p.made[e.To] && p.nodes[e.To].no == ""
	})
}

// rooms are what the pairs cost that leave the kernel, in bytes for each event of the
// sources, by stream.
func (s *pairSender) rooms() map[int]float64 {
	rooms := map[int]float64{}
	for _, p := range s.parts {
		size := sentHead
		for _, f := range p.edge.Send.Fields {
			size += f.F.Size
		}
		if p.edge.Send.Stacks {
			size += 2 * sent.StackKey
		}
		switch {
		case p.event != nil:
			size = sentHead + sendSize(p.edge.Send, p.event)
		case p.start == nil: // all of what a fold emits
			size += s.p.bytes[p.edge.Stream]
		}
		if p.edge.Send.Around {
			size += s.p.aroundSize()
		}
		share := s.p.passed[p.edge.Stream]
		for _, n := range p.edge.Preds {
			share *= passing(n)
		}
		rooms[p.edge.Stream] = share * float64(size)
	}
	return rooms
}

// aroundSize is what two events are that are sent whole beside what a fold emits, at most.
func (p *Placer) aroundSize() int {
	most := 0
	for _, n := range p.nodes {
		if n.event != nil {
			most = max(most, n.event.Program.Schema.Size)
		}
	}
	return 2 * (sent.AroundHead + most)
}

// behind generates the programs of what the cut left in the kernel, which send the
// pairs that leave it. The predicates that programs check are taken from who reads
// these.
func (s *pairSender) behind() (*Kernel, error) {
	p := s.p
	t, k := p.env, p.collected
	part := &bpf.Part{Events: k.part.Events, Intervals: t.Intervals, Counted: t.Counted,
		KeptBytes: k.part.KeptBytes}
	for i, n := range p.nodes {
		if n.op == nil || !p.made[i] {
			continue
		}
		for _, e := range p.Edges {
			if e.To == i {
				k.bring(part, e.Stream, n.op)
			}
		}
	}
	for _, sent := range s.parts {
		part.Edges = append(part.Edges, sent.edge)
	}
	// Pairs have texts up to some length; events have the whole of theirs.
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
	k.out.Image, k.out.inside, k.out.sends = image, map[*Operator]bool{}, true
	for i, n := range p.nodes {
		if n.op != nil && p.made[i] {
			k.out.inside[n.op] = true
		}
	}
	var moved []*Pred
	for _, sent := range s.parts {
		moved = append(moved, sent.moved...)
	}
	p.beside(s.parts)
	p.move(moved)
	return k.out, nil
}
