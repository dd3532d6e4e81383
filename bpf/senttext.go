package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/latetext"
	"ppscript/bpf/textcode"
	"ppscript/runtime/sent"
)

// This file sends texts of the process behind a record.

// layTexts adds to a record the word that says where its texts are.
func (r *record) layTexts() {
	if r.texts = 0; len(r.Texts) > 0 {
		r.texts = textcode.Pad(r.size)
		r.size = r.texts + 8
	}
}

// buffer is how large a record can become.
func (r *record) buffer() int {
	n := r.size
	if r.Whole {
		n += wholeMost
	}
	return textcode.Pad(n) + len(r.Texts)*(sent.TextHead+userRoom)
}

// behind adds the texts to a record: R7 is where it is, R5 how long.
//
// The length is kept with the record: the verifier takes a number that is
// read back from there for unknown, so that it follows each text once, not
// once for every combination of lengths before it.
func (s *sender) behind() {
	c, r := s.code, s.record
	from, to := int16(r.texts), int16(r.texts+4)
	most := int32(r.buffer() - sent.TextHead - userRoom)
	c.Emit(asm.Add.Imm(asm.R5, 7), asm.And.Imm(asm.R5, -8),
		asm.StoreMem(asm.R7, from, asm.R5, asm.Word), asm.StoreMem(asm.R7, to, asm.R5, asm.Word))
	mark := c.Stack
	var call int16
	again := s.source.lateTexts()
	if again > 0 {
		call = c.Alloc(latetext.CallSize(again))
		c.Zero(call, latetext.CallSize(again))
	}
	for i, n := range r.Texts {
		next := c.Label()
		s.eval.num(n)
		c.IfImm(asm.JEq, asm.R0, 0, next)
		c.Emit(asm.LoadMem(asm.R1, asm.R7, to, asm.Word))
		c.IfImm(asm.JGT, asm.R1, most, s.eval.fail)
		c.Emit(asm.Mov.Reg(asm.R8, asm.R7), asm.Add.Reg(asm.R8, asm.R1),
			asm.StoreMem(asm.R8, 0, asm.R0, asm.DWord),
			asm.Mov.Reg(asm.R3, asm.R0), asm.Mov.Reg(asm.R1, asm.R8), asm.Add.Imm(asm.R1, sent.TextHead))
		c.ReadUser(asm.R8, sent.TextHead)
		if again > 0 {
			c.Emit(latetext.Note(call, i, c.Name())...)
		}
		c.Emit(asm.StoreMem(asm.R8, 8, asm.R0, asm.DWord), asm.LoadMem(asm.R1, asm.R7, to, asm.Word),
			asm.Add.Reg(asm.R1, asm.R0), asm.Add.Imm(asm.R1, sent.TextHead+7), asm.And.Imm(asm.R1, -8),
			asm.StoreMem(asm.R7, to, asm.R1, asm.Word))
		c.Place(next)
	}
	if again > 0 {
		c.Emit(latetext.Keep(call, s.eval.members.PidTgid(), s.eval.hook.Index, c.Name())...)
	}
	c.Stack = mark
	c.Emit(asm.LoadMem(asm.R5, asm.R7, to, asm.Word))
	c.IfImm(asm.JGT, asm.R5, int32(r.buffer()), s.eval.fail)
}

// fillBuffer puts the fields into memory of the CPU, for texts to follow: R7 is
// where, R5 how long.
func (s *sender) fillBuffer() {
	c, r := s.code, s.record
	mark := c.Stack
	at := c.Alloc(r.texts)
	if r.texts > 0 {
		c.Zero(at+int16(r.texts)-8, 8) // fields may end in the middle
	}
	s.fill(at)
	s.scratch()
	for i := 0; i < r.texts; i += 8 {
		c.Load(asm.R0, at+int16(i))
		c.Emit(asm.StoreMem(asm.R7, int16(i), asm.R0, asm.DWord))
	}
	c.Emit(asm.Mov.Imm(asm.R5, int32(r.size)))
	c.Stack = mark
}

// lateTexts is how many texts of an event can be missing that the end of its call
// sees again; 0 is none.
func (e *source) lateTexts() int {
	most := 0
	for k := range e.feeds {
		if r := e.feeds[k].emit; r != nil && !r.pair && latetext.Begins(e.Schema) {
			most = max(most, len(r.Texts))
		}
	}
	return most
}

// lateTexts adds the programs that read texts again, and their maps.
func (im *Image) lateTexts(host *Host) {
	var calls []latetext.Call
	for i, e := range im.graph.sources {
		if n := e.lateTexts(); n > 0 {
			calls = append(calls, latetext.Call{Source: i, Schema: e.Schema, Label: e.Label, Texts: n})
		}
	}
	programs, maps := latetext.Programs(calls, host.Event)
	im.Programs, im.Maps = append(im.Programs, programs...), append(im.Maps, maps...)
}
