package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/latetext"
	"ppscript/bpf/outbox"
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
func (s *sender) behind() {
	texts := outbox.Texts{
		Code: s.code, At: s.record.texts, Most: s.record.buffer(), N: len(s.record.Texts),
		Address: func(i int) { s.eval.num(s.record.Texts[i]) }, Fail: s.eval.fail,
		Again: s.source.lateTexts(), Task: s.eval.members.PidTgid(), Program: s.eval.hook.Index,
	}
	texts.Add()
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
