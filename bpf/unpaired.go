package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/load"
	"ppscript/bpf/outbox"
	"ppscript/bpf/state"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/record/sent"
)

// This file sends the events of a join that stay without a partner. A record has the
// bytes of the waiting event and the reason why it waits no longer, so it has one form
// whether the event had waited or is at hand. Events that still wait when the run ends
// are read out of the map (load/waiting.go), in the same form.
//
// When the map is nearly full, user space gives up the oldest events now and then
// (load/sweep.go). An event that finds no room before that is evicted at once.

// unpaired describes the records of the events of an input that stay without a partner.
type unpaired struct {
	source int // the input
	feeds  []feed
}

// unpairedInput finds the input whose unpaired events form a stream.
func (j *joinOp) unpairedInput(s *layout, stream int) (input int, ok bool) {
	for i := range s.inputs() {
		of, left := s.streamOf(i), j.spec.Streams
		if of < len(left) && left[of] != nil && left[of].Index == stream {
			return i, true
		}
	}
	return 0, false
}

// leaving returns the feeds of a stream of unpaired events; nil if the stream does
// not come from this join.
func (j *joinOp) leaving(s *layout, stream int) *[]feed {
	source, ok := j.unpairedInput(s, stream)
	if !ok {
		return nil
	}
	for i := range j.unpaired {
		if j.unpaired[i].source == source {
			return &j.unpaired[i].feeds
		}
	}
	j.unpaired = append(j.unpaired, unpaired{source: source})
	return &j.unpaired[len(j.unpaired)-1].feeds
}

// record is the record of such an event.
func (u *unpaired) record() *record { return u.feeds[0].emit }

// prepareUnpaired settles which fields of an event wait so that they can be
// sent if it stays without a partner.
func (s *layout) prepareUnpaired(j *joinOp, u *unpaired) {
	r := u.record()
	if r.Whole || len(r.Texts) > 0 {
		refuse("whole records of events without a partner")
	}
	if j.Late == nil {
		j.Late = map[int]bool{}
	}
	j.Late[u.source], j.flags = false, j.flags || r.Context
	j.Waits.Save(waits(sent.Task, u.source, false))
	j.Waits.Save(waits(sent.Context, u.source, false))
	r.derived = nil
	s.derives(j, r, u.source, expr.Start)
	if e := s.sourceOf(u.source); e != nil && r.Stacks && e.Stack != nil {
		s.sendsStack(e)
		j.Waits.Save(waits(sent.Stack, u.source, false))
	}
	for _, f := range r.Fields {
		j.Waits.Save(fieldWaits(f, u.source, false))
	}
}

// columns lists the columns of an unpaired event's record: the reason, the age,
// and behind them the waiting event.
func (u *unpaired) columns(s *layout, j *joinOp) []sent.Column {
	waits := []sent.Column{{Origin: sent.Time, Part: expr.Start, Off: state.WaitingTime, Size: 8}}
	for i := range j.Waits.Fields {
		f := &j.Waits.Fields[i]
		if f.Event == u.source && (f.Origin != sent.Field || s.sourceOf(u.source) != nil) {
			c := f.Column
			c.Part = expr.Start
			waits = append(waits, c)
		}
	}
	return append(sent.Moved(append(waits, u.record().derived...), sent.UnpairedWaits),
		sent.Column{Origin: sent.Reason, Slot: join.SlotReason, Off: sent.UnpairedReason, Size: 8},
		sent.Column{Origin: sent.Age, Slot: join.SlotAge, Off: sent.UnpairedAge, Size: 8})
}

// Unpaired describes the sent records of a join's unpaired events, with their streams and the
// index of the join in the programs.
func (im *Image) Unpaired(of *join.Spec) (records []sent.Record, streams []int, index int) {
	s := im.layout
	for _, j := range s.joins {
		if j.spec != of {
			continue
		}
		index = j.Index
		for i := range j.unpaired {
			u := &j.unpaired[i]
			st := j.spec.Streams[s.streamOf(u.source)]
			records = append(records, sent.Record{Schema: st.Schema, Label: st.Label,
				Columns: u.columns(s, j), Slots: join.SlotKey + 1, Start: s.part(u.source)})
			streams = append(streams, st.Index)
		}
	}
	return records, streams, index
}

// outgoing allocates a record on the stack: the head, the reason and the age, then room
// for the waiting event.
func (o *joiner) outgoing() *outbox.Record {
	c, size := o.code, sent.HeadSize+sent.UnpairedWaits+o.join.Waits.Size()
	return &outbox.Record{At: c.Alloc(size), Size: size, Number: c.Alloc(8)}
}

// waitsIn is the place of the waiting event in the record.
func waitsIn(r *outbox.Record) int16 { return r.At + sent.HeadSize + sent.UnpairedWaits }

// copyWaiting copies the waiting event at R7 into the record.
func (o *joiner) copyWaiting(r *outbox.Record) {
	for at := 0; at < o.join.Waits.Size(); at += 8 {
		o.code.Emit(asm.LoadMem(asm.R1, asm.R7, int16(at), asm.DWord))
		o.code.Store(waitsIn(r)+int16(at), asm.R1)
	}
}

// leaves sends an event that stays without a partner. now is the place of the current
// time, from which its age is computed; 0 for the event at hand, whose age is 0.
func (o *joiner) leaves(r *outbox.Record, why join.Reason, now int16) {
	c := o.code
	mark := c.Stack
	ready, unwanted := c.Label(), c.Label()
	for i := range o.join.unpaired {
		u := &o.join.unpaired[i]
		other := c.Label()
		c.Load(asm.R1, waitsIn(r)+state.WaitingEvent)
		c.IfImm(asm.JNE, asm.R1, int32(u.source+1), other)
		c.Set(r.Number, int32(u.record().stream))
		c.GoTo(ready)
		c.Place(other)
	}
	c.GoTo(unwanted)
	c.Place(ready)
	head := r.At + sent.HeadSize
	c.Set(head+sent.UnpairedReason, int32(why))
	c.Emit(asm.Mov.Imm(asm.R0, 0))
	if now != 0 {
		c.Load(asm.R0, now)
		c.Load(asm.R1, waitsIn(r)+state.WaitingTime)
		c.Emit(asm.Sub.Reg(asm.R0, asm.R1))
	}
	c.Store(head+sent.UnpairedAge, asm.R0)
	o.send(r)
	c.Place(unwanted)
	c.Stack = mark
}

// sendNow sends the event at hand as unpaired: it found no partner, or no room to
// wait.
func (o *joiner) sendNow(why join.Reason, now int16) {
	c := o.code
	mark := c.Stack
	r := o.outgoing()
	o.fill(waitsIn(r), now)
	o.leaves(r, why, 0)
	c.Stack = mark
}

// waitSent makes the event wait under its key. It sends an older event that waited there, or the
// event itself if there is no room.
func (o *joiner) waitSent(key, now int16, done label) {
	c, j := o.code, o.join
	mark := c.Stack
	free, full := c.Label(), c.Label()
	r := o.outgoing()
	c.Get(load.WaitMap.Of(j.Index), key, free)
	c.Emit(asm.Mov.Reg(asm.R7, asm.R0))
	o.copyWaiting(r)
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
	c.IfImm(asm.JNE, asm.R0, -17, full) // EEXIST: another CPU put an event there at the same time
	o.count(load.StatUnmatched)
	o.leaves(r, join.Cancelled, 0)
	c.GoTo(done)
	c.Place(full)
	o.count(load.StatEvicted)
	o.leaves(r, join.Evicted, 0)
	c.Stack = mark
}
