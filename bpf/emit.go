package bpf

import (
	"cmp"
	"slices"

	"github.com/cilium/ebpf"
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

// This file sends projected records: the fields of an event that somebody reads,
// through the buffer of the CPU (package outbox). The program evaluates only the
// filter; operators that need the events themselves run in ppscript.

// A record is what is sent of an event, and where that stands.
type record struct {
	*Record
	slots []slot
	texts int // where it says where the texts are
	size  int // bytes
	// pair says that it is a pair's, emitted that it is what a fold emits.
	pair    bool
	emitted bool
	numbered
	values  []sent.Value // of an emitted event
	context int          // where its context stands
	key     int          // where its key stands
	around  int          // and the two events
	// stacks are those of the start and of the end of a pair, and where their hashes stand.
	stacks [2]struct {
		spec *StackSpec
		at   int
	}
	made []slot // of a pair whose start, or end, operators make
	// together says that both events of a pair have one preemption count.
	together bool
}

// numbered says by which number a record is sent: stream, or, of pairs of many functions, one
// of numbers, which are nil of others.
type numbered struct {
	stream  int
	numbers *hook.PairNumbers
}

// A slot is a field's place in the sent record.
type slot struct {
	field *expr.Field
	off   int
	size  int
	text  bool
	array bool
	made  bool // it is of what operators make
	// located says that it is a text whose place only the record tells.
	located bool
	// read says that it is the argument of a probe that lies in memory: behind it
	// stands whether it could be read.
	read bool
	// user says that it is an argument that is a text of the process, for who shows the event.
	user bool
}

// wholeMost bounds whole records.
const wholeMost = 4096

// lay settles the places.
func (r *record) lay() {
	r.slots, r.size = nil, 0
	for _, f := range r.Fields {
		s := slot{field: f, size: f.F.Size}
		_, known := hook.Sizes[s.size]
		switch {
		case f.F.Read != nil && f.F.Kind == event.Str:
			s.text, s.size = true, eval.Env{}.FieldRoom(f)
		case f.F.Place == event.InMember && (f.F.Member.OfContext() || f.F.Member == event.MemberCgroup):
			s.size = 8
		case f.F.Place == event.InMember && f.F.Member.OfRegister():
			s.argument()
		case f.F.Place != event.InRaw || r.Whole:
			refuse("field %s is not in the record", f.F.Name)
		case f.F.Kind == event.Str && f.View == expr.ViewValue:
			s.text, s.size = true, eval.Env{}.FieldRoom(f)
		case f.F.Kind != event.Int || !known:
			refuse("field %s is neither a number nor a text", f.F.Name)
		}
		r.slots = append(r.slots, s)
	}
	r.place()
	if r.Context && !r.Whole {
		r.context = eval.Pad(r.size)
		r.size = r.context + 8
	}
	r.layTexts()
	if r.size > 3*state.WaitingLimit/2 {
		refuse("%d bytes of each event", r.size)
	}
}

// place settles the places of the slots, behind what there is: the largest first, so that all
// are aligned.
func (r *record) place() {
	slices.SortStableFunc(r.slots, func(a, b slot) int { return cmp.Compare(min(b.size, 8), min(a.size, 8)) })
	for i := range r.slots {
		r.slots[i].off = r.size
		r.size += r.slots[i].size
	}
}

// argument settles the place of an argument of a probe, or of a register.
func (s *slot) argument() {
	f := s.field.F
	switch o := f.Operand(); {
	case f.Kind != event.Int || f.Member.OfProbe() && o == nil:
		refuse("field %s is computed of a sample", f.Name)
	case o != nil && o.Load > 0:
		s.read, s.size = true, 16
	default:
		s.size = 8
	}
}

// Projection says how the sent fields of an event become its record again; nil if it is
// not sent.
func (im *Image) Projection(e int) *sent.Projection {
	for k := range im.graph.sources[e].feeds {
		r := im.graph.sources[e].feeds[k].emit
		if r == nil {
			continue
		}
		c := &sent.Projection{SampleMembers: map[event.Member]int{}, Read: map[event.Member]int{},
			Addresses: map[event.Member]bool{}}
		if r.Context && !r.Whole {
			c.Copies = []sent.Copy{
				{From: r.context + sent.ContextFlags/8, To: 2, Size: 1},
				{From: r.context + sent.ContextPreempt/8, To: 3, Size: 1},
			}
		}
		for _, n := range r.Texts {
			if f, ok := n.(*expr.Field); ok && f.F.Place == event.InMember && f.F.Member.OfRegister() {
				c.Addresses[f.F.Member] = true
			}
		}
		for _, s := range r.slots {
			if s.read {
				c.Read[s.field.F.Member] = s.off
				continue
			}
			if s.field.F.Place == event.InMember {
				c.SampleMembers[s.field.F.Member] = s.off
				continue
			}
			f := s.field.F
			c.Copies = append(c.Copies, sent.Copy{From: s.off, To: f.Offset, Size: f.Size})
			c.Size = max(c.Size, f.Offset+f.Size)
		}
		c.Texts = r.fixedPart()
		if r.Whole {
			c.Skip = r.size
		} else {
			c.Size = max(c.Size, im.graph.sources[e].Schema.Size, 8)
		}
		return c
	}
	// As a part of something else.
	switch s := im.graph.sources[e]; {
	case s.Probe != nil || len(s.keptReads()) > 0:
		return &sent.Projection{Words: sent.WordsOf(s.Schema, s.keptReads()...)}
	case s.partTexts:
		return &sent.Projection{PartTexts: true}
	}
	return nil
}

// A sender sends records of a program's events.
type sender struct {
	*gate
	record *record
	source *source
	fold   *foldOp // that emitted the event; nil of other events
}

// feed sends the event if all predicates hold.
func (s *sender) feed(f *feed) {
	switch {
	case s.record.pair:
		s.pair(f)
		return
	case s.record.emitted:
		s.emitted(f)
		return
	}
	c, r := s.code, s.record
	end, failed := c.Label(), c.Label()
	s.eval.Fail = failed
	s.takes(f, end)
	data := outbox.Record{Size: sent.HeadSize, Stream: s.eval.Hook.Index}
	if len(s.source.serves) > 1 {
		data.Number = hook.HitEvent(s.eval.Hook)
	}
	switch {
	case r.Whole:
		s.whole()
	case len(r.Texts) > 0:
		s.fillBuffer()
	default:
		data.Size += r.size
		data.At = c.Alloc(data.Size)
		s.fill(data.At + sent.HeadSize)
	}
	if len(r.Texts) > 0 {
		s.behind()
	}
	if r.Whole || len(r.Texts) > 0 {
		data.Length, data.Most = c.Alloc(8), r.buffer()
		c.Store(data.Length, asm.R5)
	}
	s.send(&data)
	c.GoTo(end)
	c.Place(failed)
	s.count(load.StatErrors)
	c.Place(end)
}

// send completes a record and sends it. R7 to R9 are lost.
func (g *gate) send(r *outbox.Record) { g.outbox().Send(r) }

func (g *gate) outbox() *outbox.Outbox {
	return &outbox.Outbox{Code: g.code, Hook: g.eval.Hook, Members: g.eval.Members}
}

// fill puts the fields to a place of the stack.
func (s *sender) fill(at int16) {
	c := s.code
	for _, slot := range s.record.slots {
		to := at + int16(slot.off)
		if slot.text {
			s.eval.Text(to, slot.size, slot.field)
			continue
		}
		if slot.read {
			s.eval.Arguments().Sent(to, slot.field.F)
			continue
		}
		in := hook.ArgumentScratch(slot.field)
		s.eval.Field(in, slot.field)
		c.Emit(asm.StoreMem(asm.R10, to, in, hook.Sizes[slot.size]))
	}
	if s.record.Context {
		s.eval.Members.Moment(at+int16(s.record.context), true, true)
	}
}

// whole copies the record behind the sample members. R7 is its address, R5 its length.
func (s *sender) whole() {
	var moment int16
	if s.record.Context {
		moment = s.code.Alloc(8)
		s.eval.Members.Moment(moment, true, true)
	}
	s.outbox().Whole(s.record.size, wholeMost, moment, s.eval.Fail, func() {
		s.scratch()
		for _, slot := range s.record.slots {
			if slot.text {
				s.wholeText(slot)
				continue
			}
			s.eval.Field(asm.R0, slot.field)
			s.code.Emit(asm.StoreMem(asm.R7, int16(slot.off), asm.R0, asm.DWord))
		}
	})
}

// wholeText puts a text in front of a whole record.
func (s *sender) wholeText(slot slot) {
	c := s.code
	mark := c.Stack
	at := c.Alloc(slot.size)
	s.eval.Text(at, slot.size, slot.field)
	s.copied(slot.off, at, slot.size)
	c.Stack = mark
}

// scratch leaves in R7 where records are made that are larger than the stack.
func (s *sender) scratch() {
	c := s.code
	mark := c.Stack
	k := c.Alloc(8)
	c.Zero(k, 8)
	s.buffer = max(s.buffer, sent.HeadSize+s.record.buffer())
	c.Get(load.WholeMap.Of(s.eval.Hook.Index), k, s.eval.Fail)
	c.Stack = mark
	c.Emit(asm.Mov.Reg(asm.R7, asm.R0), asm.Add.Imm(asm.R7, sent.HeadSize))
}

// copied copies words of the stack to a place of the memory in R7.
func (s *sender) copied(to int, at int16, size int) {
	for i := 0; i < size; i += 8 {
		s.code.Load(asm.R0, at+int16(i))
		s.code.Emit(asm.StoreMem(asm.R7, int16(to+i), asm.R0, asm.DWord))
	}
}

// whole reports that somebody wants the whole record.
func (e *source) whole() bool {
	return slices.ContainsFunc(e.feeds, func(f feed) bool { return f.emit != nil && f.emit.Whole })
}

// emits reports that the event is sent itself.
func (e *source) emits() bool {
	return slices.ContainsFunc(e.feeds, func(f feed) bool { return f.emit != nil })
}

// buffers adds the memory of a program's records that do not fit on its stack.
func (im *Image) buffers(index int, g *gate) {
	if g.buffer > 0 {
		im.define(load.WholeMap.Of(index), &ebpf.MapSpec{Type: ebpf.PerCPUArray, KeySize: 4,
			ValueSize: uint32(g.buffer), MaxEntries: 1})
	}
}
