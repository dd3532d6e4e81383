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

// This file sends texts from the process's memory behind a record.

// layTexts adds to a record the word that locates its texts.
func (r *record) layTexts() {
	if r.texts = 0; len(r.Texts) > 0 {
		r.texts = eval.Pad(r.size)
		r.size = r.texts + 8
	}
}

// fixedPart is the number of bytes in front of the texts; 0 if there are no
// texts.
func (r *record) fixedPart() int {
	if len(r.Texts) == 0 {
		return 0
	}
	return r.size
}

// buffer is the largest size of a record in bytes.
func (r *record) buffer() int {
	n := r.size
	if r.Whole {
		n += wholeMost
	}
	return eval.Pad(n) + len(r.Texts)*(sent.TextHead+assembler.UserRoom)
}

// behind adds the texts to the record at R7, whose length is R5. The texts of a pair come from
// kept; kept is nil for all others.
func (s *sender) behind(kept *state.CallTextKeeper) {
	r := s.record
	texts := outbox.Texts{Eval: s.eval, At: r.texts, Most: r.buffer(), Addrs: r.Texts, Keeper: kept}
	if kept == nil {
		texts.Again, texts.Task = s.source.lateTexts(), s.eval.Members.PidTgid()
		texts.Program = s.eval.Hook.Index
	} else {
		for _, addr := range r.Texts {
			p := s.eval.Env.Pair
			index, _ := p.Join.Texts.Of(p.Start, addr)
			texts.Index = append(texts.Index, index)
		}
	}
	texts.Add()
}

// texts moves the fields from the stack into scratch memory and adds the texts: texts of the event
// at hand, or texts that the start of a pair kept with the thread.
func (s *sender) texts(at int16) {
	c, r := s.code, s.record
	var kept *state.CallTextKeeper
	if r.pair {
		kept = &state.CallTextKeeper{Code: c, Map: load.CallTextMap.Of(s.eval.Env.Pair.Join.Index)}
		kept.Memory(s.eval.Fail)
	}
	s.scratch()
	s.copied(0, at, r.texts)
	c.Emit(asm.Mov.Imm(asm.R5, int32(r.size)))
	s.behind(kept)
}

// lateTexts is the number of texts of an event that may be missing at the begin
// of a call and are read again at its end.
func (e *source) lateTexts() int {
	most := 0
	for k := range e.feeds {
		if r := e.feeds[k].emit; r != nil && !r.pair && hook.BeginsCall(e.Schema) {
			most = max(most, len(r.Texts))
		}
	}
	return most
}

// lateTexts adds the programs that read missing texts again at the ends of
// calls, and their maps.
func (im *Image) lateTexts(host *Host) {
	var calls []outbox.LateCall
	for i, e := range im.layout.sources {
		if n := e.lateTexts(); n > 0 {
			calls = append(calls, outbox.LateCall{Source: i, Schema: e.Schema, Label: e.Label, Texts: n})
		}
	}
	if len(calls) == 0 {
		return
	}
	programs, maps := outbox.LateTexts(calls, host.Event)
	im.Programs, im.Maps = append(im.Programs, programs...), append(im.Maps, maps...)
}
