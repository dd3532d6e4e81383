package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/bpf/outbox"
	"ppscript/bpf/state"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/record/sent"
)

// This file sends the events of a join that stay without a partner. A record is what
// waits of an event, byte by byte, and why it waits no longer: so it is the same whether
// the event had waited, or is at hand. What waits in the end is read out of the map
// (load/waiting.go), and is the same again.
//
// Where more wait than may, the oldest are given up as natively, but by ppscript, now and
// then (load/room.go). An event that finds no room before is evicted at once.

// A left is what is sent of an event that stays without a partner.
type left struct {
	source int // the input whose event it is
	feeds  []feed
}

// leftOf finds the input whose unpaired events are a stream.
func (j *joinOp) leftOf(s *graph, stream int) (input int, ok bool) {
	for i := range s.inputs() {
		of, left := s.streamOf(i), j.spec.Left
		if of < len(left) && left[of] != nil && left[of].Index == stream {
			return i, true
		}
	}
	return 0, false
}

// leaving is where unpaired events of a stream go; nil if the join makes none of it.
func (j *joinOp) leaving(s *graph, stream int) *[]feed {
	source, ok := j.leftOf(s, stream)
	if !ok {
		return nil
	}
	for i := range j.lefts {
		if j.lefts[i].source == source {
			return &j.lefts[i].feeds
		}
	}
	j.lefts = append(j.lefts, left{source: source})
	return &j.lefts[len(j.lefts)-1].feeds
}

// record is what is sent of it.
func (l *left) record() *record { return l.feeds[0].emit }

// prepareLeft settles what waits of events that may stay without a partner.
func (s *graph) prepareLeft(j *joinOp, l *left) {
	r := l.record()
	if r.Whole || len(r.Texts) > 0 {
		refuse("whole records of events without a partner")
	}
	if j.Late == nil {
		j.Late = map[int]bool{}
	}
	j.Late[l.source], j.flags = false, j.flags || r.Context
	j.Waits.Save(state.Field{Name: state.TaskName, Of: tidNode, Event: l.source, Size: 8})
	j.Waits.Save(state.Field{Name: state.ContextName, Of: cpuNode, Event: l.source, Size: 8})
	r.made = nil
	s.sendsMade(j, r, l.source, expr.Start)
	r.slots = r.made // where they wait
	if e := s.sourceOf(l.source); e != nil && r.Stacks && e.Stack != nil {
		s.sendsStack(e, r, 0)
		j.Waits.Save(state.Field{Name: state.StackName, Of: tidNode, Event: l.source, Size: load.StackKey})
	}
	for _, f := range r.Fields {
		register := f.F.Place == event.InMember && f.F.Member.OfRegister()
		if !hook.IsLocated(f) && !register && (f.F.Place != event.InRaw || f.View != expr.ViewValue) {
			refuse("field %s is not at a fixed place of its record", f.F.Name)
		}
		j.Waits.Save(savedOf(f, l.source, s.textRoom))
	}
}

// Lefts are the streams of events without a partner that the programs send.
func (im *Image) Lefts() (lefts []sent.Left, streams []int) {
	for _, j := range im.graph.joins {
		for i := range j.lefts {
			l := &j.lefts[i]
			schema := im.graph.schemaOf(l.source)
			st := j.spec.Left[im.graph.streamOf(l.source)]
			s := sent.Left{
				Schema: st.Schema, Label: st.Label, Event: l.source, Join: j.spec, Index: j.Index,
				Size: j.Waits.Size(), Record: sent.Projection{Size: max(schema.Size, 8)},
				Made: im.graph.sentPart(l.record(), l.source, expr.Start),
			}
			words := sent.WordsOf(schema)
			for k := range j.Waits.Fields {
				sf := &j.Waits.Fields[k]
				m := sf.Of.F.Member
				switch {
				case sf.Event != l.source, s.Made != nil && sf.Of.F.Place != event.InMember:
				case sf.Name == state.TaskName:
					s.Task = sf.Off
				case sf.Name == state.ContextName:
					s.Context = sf.Off
				case sf.Name == state.StackName:
					s.Stack = sf.Off
				case sf.Located:
					s.Record.Located = append(s.Record.Located, sent.LocatedAt(sf.Of.F, sf.Off, sf.Size))
				case sf.Of.F.Place == event.InMember && m.OfRegister() && !sf.Text:
					s.Record.AddWord(words, m, hook.ArgumentWord(sf.Off, sf.Size, sf.Read, sf.User))
				case sf.Of.F.Place == event.InRaw && sf.Of.View == expr.ViewValue:
					f := sf.Of.F
					field := sent.Copy{From: sf.Off, To: f.Offset, Size: f.Size}
					s.Record.Copies = append(s.Record.Copies, field)
					s.Record.Size = max(s.Record.Size, f.Offset+f.Size)
				}
			}
			s.Record.PlaceTexts()
			lefts, streams = append(lefts, s), append(streams, st.Index)
		}
	}
	return lefts, streams
}

// outgoing is room on the stack for what waits, behind all that goes in front of it when
// it is sent.
func (o *joiner) outgoing() *outbox.Record {
	c, size := o.code, sent.HeadSize+sent.LeftHead+o.join.Waits.Size()
	return &outbox.Record{At: c.Alloc(size), Size: size, Number: c.Alloc(8)}
}

// waitsIn is where what waits stands in it.
func waitsIn(r *outbox.Record) int16 { return r.At + sent.HeadSize + sent.LeftHead }

// taken copies what waits at R7.
func (o *joiner) taken(r *outbox.Record) {
	for at := 0; at < o.join.Waits.Size(); at += 8 {
		o.code.Emit(asm.LoadMem(asm.R1, asm.R7, int16(at), asm.DWord))
		o.code.Store(waitsIn(r)+int16(at), asm.R1)
	}
}

// leaves sends an event that stays without a partner. now is the place of the time at
// which that is known; 0 if it is the event at hand.
func (o *joiner) leaves(r *outbox.Record, why join.Reason, now int16) {
	c := o.code
	mark := c.Stack
	ready, unwanted := c.Label(), c.Label()
	for i := range o.join.lefts {
		l := &o.join.lefts[i]
		other := c.Label()
		c.Load(asm.R1, waitsIn(r)+state.WaitingEvent)
		c.IfImm(asm.JNE, asm.R1, int32(l.source+1), other)
		c.Emit(assembler.StoreImm(asm.R10, r.Number, int32(l.record().stream)))
		c.GoTo(ready)
		c.Place(other)
	}
	c.GoTo(unwanted)
	c.Place(ready)
	head := r.At + sent.HeadSize
	c.Emit(assembler.StoreImm(asm.R10, head+sent.LeftReason, int32(why)))
	c.Emit(asm.Mov.Imm(asm.R0, 0))
	if now != 0 {
		c.Load(asm.R0, now)
		c.Load(asm.R1, waitsIn(r)+state.WaitingTime)
		c.Emit(asm.Sub.Reg(asm.R0, asm.R1))
	}
	c.Store(head+sent.LeftAge, asm.R0)
	o.send(r)
	c.Place(unwanted)
	c.Stack = mark
}

// sendNow sends the event at hand, which nothing waited for, or which finds no room.
func (o *joiner) sendNow(why join.Reason, now int16) {
	c := o.code
	mark := c.Stack
	r := o.outgoing()
	o.fill(waitsIn(r), now)
	o.leaves(r, why, 0)
	c.Stack = mark
}

// waitSent lets the event wait under its key, and sends who gives way, or finds no room.
func (o *joiner) waitSent(key, now int16, done label) {
	c, j := o.code, o.join
	mark := c.Stack
	free, full := c.Label(), c.Label()
	r := o.outgoing()
	c.Get(load.WaitMap.Of(j.Index), key, free)
	c.Emit(asm.Mov.Reg(asm.R7, asm.R0))
	o.taken(r)
	c.MapPtr(asm.R1, load.WaitMap.Of(j.Index))
	c.Addr(asm.R2, key)
	c.Call(asm.FnMapDeleteElem)
	c.IfImm(asm.JNE, asm.R0, 0, free) // another CPU was faster
	o.count(load.StatUnmatched)
	o.leaves(r, join.Replaced, now)
	c.Place(free)
	o.fill(waitsIn(r), now)
	c.Put(load.WaitMap.Of(j.Index), key, waitsIn(r), 1) // BPF_NOEXIST
	c.IfImm(asm.JEq, asm.R0, 0, done)
	c.Widen()
	c.IfImm(asm.JNE, asm.R0, -17, full) // EEXIST: of another CPU, at the same time
	o.count(load.StatUnmatched)
	o.leaves(r, join.Cancelled, 0)
	c.GoTo(done)
	c.Place(full)
	o.count(load.StatEvicted)
	o.leaves(r, join.Evicted, 0)
	c.Stack = mark
}
