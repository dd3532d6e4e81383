package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/eval"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/bpf/outbox"
	"ppscript/bpf/state"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/record/sent"
)

// This file sends pairs: the edge out of the kernel lies behind a join, and only the
// pairs leave for which its predicates hold. A record has the fields of both events
// that somebody reads (runtime/source/perf/pair.go). Those of the start wait with it.

// sends notes what waits of the starts of pairs that are sent.
func (s *graph) sends(j *joinOp, p *pair, r *record) {
	r.made = nil
	s.sendsMade(j, r, p.start, expr.Start)
	s.sendsMade(j, r, p.end, expr.End)
	start, end := s.sourceOf(p.start), s.sourceOf(p.end)
	if r.numbers != nil && len(start.serves) > 1 {
		j.Waits.Save(state.Field{Name: state.PlaceName, Of: tidNode, Event: p.start, Size: 8, Sent: true})
	}
	j.Waits.Save(state.Field{Name: state.TaskName, Of: tidNode, Event: p.start, Size: 8, Sent: true})
	j.Waits.Save(state.Field{Name: state.ContextName, Of: cpuNode, Event: p.start, Size: 8, Sent: true})
	j.flags = j.flags || r.Context
	r.together = start != nil && end != nil && hook.TaskContext(start.Schema) && hook.TaskContext(end.Schema)
	if j.Late == nil {
		j.Late = map[int]bool{}
	}
	late, known := j.Late[p.start]
	j.Late[p.start] = r.together && (late || !known)
	if r.Stacks {
		s.sendsStacks(j, p, r)
	}
	for _, f := range r.Fields {
		if f.Part == expr.Start {
			sf := savedOf(f, p.start, s.textRoom)
			sf.Sent = true
			j.Waits.Save(sf)
		}
	}
}

// savedOf is a field that waits with an event.
func savedOf(f *expr.Field, source, textRoom int) state.Field {
	return state.FieldOf(f, source, locatedSize(textRoom), eval.Env{}.FieldRoom)
}

// layPair settles the places in the record of a pair.
func (r *record) layPair(nested bool, textRoom int) {
	size := sent.PairSize
	if nested {
		size += sent.CallSize
	}
	for i := range r.stacks {
		if r.stacks[i].spec != nil {
			r.stacks[i].at = size
			size += load.StackKey
		}
	}
	r.layFixed(size, textRoom, 3*state.WaitingLimit/2)
	r.layTexts()
}

// layFixed settles the places of fields that have one in the event's own record, behind
// so many bytes.
func (r *record) layFixed(size, textRoom, most int) {
	r.slots, r.size = nil, size
	if r.Whole {
		refuse("whole records of pairs")
	}
	for _, f := range r.Fields {
		s := slot{field: f, size: f.F.Size}
		_, known := hook.Sizes[s.size]
		switch {
		case hook.IsLocated(f):
			s.located, s.size = true, locatedSize(textRoom)
		case hook.IsUserText(f.F):
			s.user, s.size = true, locatedSize(textRoom)
		case f.F.Place == event.InMember && f.F.Member.OfRegister():
			s.argument()
		case f.F.Read != nil && f.F.Kind == event.Int:
			s.size = 8
		case f.F.Place != event.InRaw || f.View != expr.ViewValue:
			refuse("field %s is not at a fixed place of its record", f.F.Name)
		case f.F.Kind == event.Str:
			s.text, s.size = true, eval.Env{}.FieldRoom(f)
		case f.F.Kind == event.Array:
			s.array, s.size = true, hook.ArraySize(f.F, state.WaitingLimit)
		case f.F.Kind != event.Int || !known:
			refuse("field %s is neither a number nor a text", f.F.Name)
		}
		r.slots = append(r.slots, s)
	}
	r.slots = append(r.slots, r.made...)
	r.place()
	if r.size > most {
		refuse("%d bytes of each pair", r.size)
	}
}

// Pairs are the streams of pairs that the programs send. Start and End are indices
// in Part.Events; who reads them knows the schema of each by its stream.
func (im *Image) Pairs() (pairs []sent.Pair, streams []int) {
	s := im.graph
	for _, j := range s.joins {
		every, lead := j.all(s)
		for k := range every {
			p := &every[k]
			for i := range p.feeds {
				f := &lead(p).feeds[i]
				if f.emit == nil {
					continue
				}
				st := pairsOf(j.spec, s.streamOf(p.start), s.streamOf(p.end))
				pairs = append(pairs, sent.Pair{
					Schema: st.Schema,
					Label:  st.Label,
					Start:  p.start,
					End:    p.end,
					Nested: j.spec.Nested,
					Starts: f.emit.part(expr.Start, s.schemaOf(p.start)),
					Ends:   f.emit.part(expr.End, s.schemaOf(p.end)),
					Stacks: [2]int{f.emit.stacks[0].at, f.emit.stacks[1].at},
					Texts:  f.emit.fixedPart(),
					Made: [2]*sent.Made{s.sentPart(f.emit, p.start, expr.Start),
						s.sentPart(f.emit, p.end, expr.End)},
				})
				streams = append(streams, st.Index)
			}
		}
	}
	return pairs, streams
}

// reads are the numbers of the kernel's memory in it.
func (r *record) reads() (all []event.Member) {
	for _, f := range r.Fields {
		if f.F.Read != nil {
			all = append(all, f.F.Member)
		}
	}
	return all
}

// part says how the fields of one event of a pair become its record.
func (r *record) part(p expr.Part, schema *event.Schema) *sent.Projection {
	out := &sent.Projection{Size: max(schema.Size, 8)}
	words := sent.WordsOf(schema, r.reads()...)
	for _, s := range r.slots {
		f := s.field.F
		switch {
		case s.field.Part != p, s.made:
		case f.Read != nil:
			out.AddWord(words, f.Member, sent.Word{From: s.off})
		case f.Place == event.InMember && f.Member.OfRegister():
			out.AddWord(words, f.Member, hook.ArgumentWord(s.off, s.size, s.read, s.user))
		case s.located:
			out.Located = append(out.Located, sent.LocatedAt(f, s.off, s.size))
		default:
			out.Copies = append(out.Copies, sent.Copy{From: s.off, To: f.Offset, Size: f.Size})
			out.Size = max(out.Size, f.Offset+f.Size)
		}
	}
	out.PlaceTexts()
	return out
}

// pair sends the pair if all predicates hold.
func (s *sender) pair(f *feed) {
	data := outbox.Record{Size: sent.HeadSize + s.record.size, Stream: s.record.stream}
	s.fixed(f, &data, func() {
		if later := s.eval.Env.Pair.Later; later != nil {
			later()
		}
		if n := s.record.numbers; n != nil {
			start := int16(0)
			if p := s.eval.Env.Pair; p.Join.Waits.At(p.Start, state.PlaceName) >= 0 {
				start = p.Waited(state.PlaceName)
			}
			data.Number = n.Find(s.eval.Hook, start, s.eval.Fail)
		}
		data.At = s.code.Alloc(data.Size)
		s.ends(data.At + sent.HeadSize)
		s.pairRecord(data.At + sent.HeadSize)
		if len(s.record.Texts) > 0 {
			s.pairTexts(&data)
		}
	})
}

// pairRecord writes the record of a pair behind its head.
func (s *sender) pairRecord(at int16) {
	c, r, p := s.code, s.record, s.eval.Env.Pair
	copyWord := func(to int, from int16) {
		c.Load(asm.R0, from)
		c.Store(at+int16(to), asm.R0)
	}
	copyWord(sent.PairDelay, p.Delay)
	copyWord(sent.PairEnd, p.Now)
	copyWord(sent.PairTask, p.Waited(state.TaskName))
	copyWord(sent.PairStartContext, p.Waited(state.ContextName))
	for i := 0; i < len(p.Call)-1; i++ {
		copyWord(sent.PairSize+8*i, p.Call[1+i])
	}
	s.eval.Members.Moment(at+sent.PairEndContext, r.Context && p.End == (eval.Env{}), true)
	if r.Context && p.Join.Late[p.Start] {
		c.Emit(asm.LoadMem(asm.R0, asm.R10, at+sent.PairEndContext+sent.ContextPreempt/8, asm.Byte),
			asm.StoreMem(asm.R10, at+sent.PairStartContext+sent.ContextPreempt/8, asm.R0, asm.Byte))
	}

	if to := r.stacks[0].at; to > 0 {
		from := p.Waited(state.StackName)
		copyWord(to, from)
		copyWord(to+8, from+8)
	}
	if to := r.stacks[1].at; to > 0 {
		s.stack(at+int16(to), r.stacks[1].spec)
	}
	for _, slot := range r.slots {
		to := at + int16(slot.off)
		switch {
		case (slot.array || slot.located || slot.read || slot.user) && slot.field.Part == expr.Start:
			name := state.FieldName(&expr.Field{F: slot.field.F, View: slot.field.View})
			switch {
			case slot.located, slot.user:
				name += state.CutName
			case slot.read:
				name += state.ReadName
			}
			from := p.Waited(name)
			for o := 0; o < slot.size; o += 8 {
				copyWord(slot.off+o, from+int16(o))
			}
		case slot.located:
			s.eval.Hook.Located(to, slot.size, slot.field.F)
		case slot.array:
			s.eval.Hook.Array(to, slot.field.F)
		case slot.text:
			s.eval.Text(to, slot.size, slot.field)
		case slot.user:
			s.eval.Arguments().Line(to, slot.size, slot.field.F)
		case slot.read:
			s.eval.Arguments().Sent(to, slot.field.F)
		default:
			in := hook.ArgumentScratch(slot.field)
			s.eval.Field(in, slot.field)
			c.Emit(asm.StoreMem(asm.R10, to, in, hook.Sizes[slot.size]))
		}
	}
}

// fixed sends a record of a fixed size if all predicates hold: fill makes it, but for
// its head.
func (s *sender) fixed(f *feed, data *outbox.Record, fill func()) {
	c := s.code
	end, failed := c.Label(), c.Label()
	s.eval.Fail = failed
	s.takes(f, end)
	fill()
	s.send(data)
	c.GoTo(end)
	c.Place(failed)
	s.count(load.StatErrors)
	c.Place(end)
}
