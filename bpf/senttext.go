package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/eval"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/bpf/outbox"
	"ppscript/bpf/state"
	"ppscript/runtime/record/sent"
)

// This file sends texts of the process behind a record.

// layTexts adds to a record the word that says where its texts are.
func (r *record) layTexts() {
	if r.texts = 0; len(r.Texts) > 0 {
		r.texts = eval.Pad(r.size)
		r.size = r.texts + 8
	}
}

// fixedPart is the size of what is in front of the texts; 0 if there are none.
func (r *record) fixedPart() int {
	if len(r.Texts) == 0 {
		return 0
	}
	return r.size
}

// buffer is how large a record can become.
func (r *record) buffer() int {
	n := r.size
	if r.Whole {
		n += wholeMost
	}
	return eval.Pad(n) + len(r.Texts)*(sent.TextHead+assembler.UserRoom)
}

// behind adds the texts to a record: R7 is where it is, R5 how long.
func (s *sender) behind() {
	texts := outbox.Texts{
		Eval: s.eval, At: s.record.texts, Most: s.record.buffer(), Addrs: s.record.Texts,
		Again: s.source.lateTexts(), Task: s.eval.Members.PidTgid(), Program: s.eval.Hook.Index,
	}
	texts.Add()
}

// fillBuffer puts the fields into memory of the CPU, for texts to follow: R7 is
// where, R5 how long.
func (s *sender) fillBuffer() {
	c, r := s.code, s.record
	mark := c.Stack
	at := c.Alloc(r.texts)
	s.ends(at)
	s.fill(at)
	s.toBuffer(at)
	c.Stack = mark
}

// ends clears the end of the fields in front of texts, which may be in the middle of a word.
func (s *sender) ends(at int16) {
	if n := int16(s.record.texts); n > 0 {
		s.code.Zero(at+n-8, 8)
	}
}

// toBuffer copies the fields from the stack.
func (s *sender) toBuffer(at int16) {
	s.scratch()
	s.copied(0, at, s.record.texts)
	s.code.Emit(asm.Mov.Imm(asm.R5, int32(s.record.size)))
}

// pairTexts adds to a pair, which is on the stack, the texts that its start kept with the
// thread.
func (s *sender) pairTexts(data *outbox.Record) {
	c, r, p := s.code, s.record, s.eval.Env.Pair
	k := state.CallTextKeeper{Code: c, Map: load.CallTextMap.Of(p.Join.Index)}
	k.Memory(s.eval.Fail)
	s.toBuffer(data.At + sent.HeadSize)
	texts := outbox.Texts{Eval: s.eval, At: r.texts, Most: r.buffer(), Addrs: r.Texts, Kept: &k}
	for _, addr := range r.Texts {
		index, _ := p.Join.Texts.Of(p.Start, addr)
		texts.Index = append(texts.Index, index)
	}
	texts.Add()
	data.Size, data.Length, data.Most = sent.HeadSize, c.Alloc(8), r.buffer()
	c.Store(data.Length, asm.R5)
}

// lateTexts is how many texts of an event can be missing that the end of its call
// sees again; 0 is none.
func (e *source) lateTexts() int {
	most := 0
	for k := range e.feeds {
		if r := e.feeds[k].emit; r != nil && !r.pair && hook.BeginsCall(e.Schema) {
			most = max(most, len(r.Texts))
		}
	}
	return most
}

// lateTexts adds the programs that read texts again, and their maps.
func (im *Image) lateTexts(host *Host) {
	var calls []outbox.LateCall
	for i, e := range im.graph.sources {
		if n := e.lateTexts(); n > 0 {
			calls = append(calls, outbox.LateCall{Source: i, Schema: e.Schema, Label: e.Label, Texts: n})
		}
	}
	programs, maps := outbox.LateTexts(calls, host.Event)
	im.Programs, im.Maps = append(im.Programs, programs...), append(im.Maps, maps...)
}
