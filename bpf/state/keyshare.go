package state

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
)

// This file generates how programs leave out keys, where a budget lets one of 2, 4, ...
// count: of keys that count all events do, so that what relates events, joins and folds, is as
// it would be without a budget, for fewer keys.
//
// Which keys count says a hash of the key with a salt of the run: those of one of four are among those
// of one of two. So a key that counts stays one when others come in; and what waits of a key counts
// only if the key did all the time since: else events in between were left out, and it is given up.

// A KeyShare is the share of keys that counts for an event.
type KeyShare struct {
	Code   *assembler.Code
	Weight assembler.Weight // how many keys each that counts stands for
	Stats  load.MapID       // the counters of the program
	// Hash is the place of the hash of the key, once it was tested.
	Hash int16
}

// mix is a large odd number, near 2^64 divided by the golden ratio.
const mix = -0x61c8864680b583eb

// Test jumps to out with an event of a key that does not count. The key is size bytes at a place
// of the stack. It does nothing without a budget.
func (s *KeyShare) Test(key int16, size int, out assembler.Label) {
	if s.Weight == 0 {
		return
	}
	c := s.Code
	s.Hash = c.Alloc(8)
	c.MapValue(asm.R1, load.WeightMap.Of(), load.WeightSalt)
	c.Emit(asm.LoadMem(asm.R0, asm.R1, 0, asm.DWord))
	c.Constant(asm.R2, mix)
	for at := 0; at < size; at += 8 {
		c.Load(asm.R3, key+int16(at))
		c.Emit(asm.Xor.Reg(asm.R0, asm.R3))
		s.stir(32)
	}
	s.stir(29)
	c.Store(s.Hash, asm.R0)
	s.decide(out)
}

// Chance is Test for an event of no key: it is one of its own.
func (s *KeyShare) Chance(out assembler.Label) {
	s.Hash = s.Code.Alloc(8)
	s.random()
	s.decide(out)
}

// Passed is for an event of no key that counted before it waited.
func (s *KeyShare) Passed() {
	s.Hash = s.Code.Alloc(8)
	s.Weight = assembler.Moment(s.Code)
	s.random()
}

// random leaves a hash in R0, and at its place.
func (s *KeyShare) random() {
	c := s.Code
	c.Call(asm.FnGetPrandomU32)
	c.Constant(asm.R2, mix)
	s.stir(32)
	s.stir(29)
	c.Store(s.Hash, asm.R0)
}

// stir multiplies R0 by R2, and has the upper bits change the lower ones.
func (s *KeyShare) stir(shift int32) {
	s.Code.Emit(asm.Mul.Reg(asm.R0, asm.R2), asm.Mov.Reg(asm.R3, asm.R0), asm.RSh.Imm(asm.R3, shift),
		asm.Xor.Reg(asm.R0, asm.R3))
}

// decide jumps to out unless the hash is one that counts. How many came and for how many those
// stand that count is counted: if few keys have most events, these differ much.
func (s *KeyShare) decide(out assembler.Label) {
	c := s.Code
	all := c.Label()
	c.Load(asm.R1, int16(s.Weight))
	c.IfImm(asm.JEq, asm.R1, 1, all)
	mark := c.Stack
	none := c.Alloc(8)
	c.Zero(none, 8)
	c.Get(s.Stats, none, out)
	add := func(stat int, what asm.Register) {
		c.Emit(asm.LoadMem(asm.R4, asm.R0, int16(8*stat), asm.DWord), asm.Add.Reg(asm.R4, what),
			asm.StoreMem(asm.R0, int16(8*stat), asm.R4, asm.DWord))
	}
	c.Emit(asm.Mov.Imm(asm.R3, 1))
	add(load.StatOffered, asm.R3)
	c.Load(asm.R1, int16(s.Weight))
	c.Load(asm.R2, s.Hash)
	c.Emit(asm.Mov.Reg(asm.R3, asm.R1), asm.Sub.Imm(asm.R3, 1), asm.And.Reg(asm.R2, asm.R3))
	c.IfImm(asm.JNE, asm.R2, 0, out)
	add(load.StatStood, asm.R1)
	c.Stack = mark
	c.Place(all)
}

// Since returns the place of how many keys each stands for that counted all the time since a moment at
// a place of the stack; it jumps to broken if the key did not.
func (s *KeyShare) Since(begun int16, broken assembler.Label) assembler.Weight {
	c := s.Code
	w := c.Alloc(8)
	known, told := c.Label(), c.Label()
	c.MapValue(asm.R1, load.WeightMap.Of(), 0)
	c.Load(asm.R3, begun)
	c.Load(asm.R4, int16(s.Weight))
	c.Emit(asm.LoadMem(asm.R2, asm.R1, load.WeightChanged, asm.DWord))
	c.IfReg(asm.JGE, asm.R3, asm.R2, told)
	// The slow path: the smallest share since then.
	for i := range load.WeightLevels {
		c.Emit(asm.Mov.Imm(asm.R4, 1<<i),
			asm.LoadMem(asm.R2, asm.R1, load.WeightSince+int16(8*i), asm.DWord))
		c.IfReg(asm.JGE, asm.R3, asm.R2, known)
	}
	c.GoTo(broken)
	c.Place(known)
	c.Load(asm.R2, s.Hash)
	c.Emit(asm.Mov.Reg(asm.R3, asm.R4), asm.Sub.Imm(asm.R3, 1), asm.And.Reg(asm.R2, asm.R3))
	c.IfImm(asm.JNE, asm.R2, 0, broken)
	c.Place(told)
	c.Store(w, asm.R4)
	return assembler.Weight(w)
}

// Renew gives up a state whose key did not count all the time since it was made, which stands in it,
// or 0: it is at its begin then, which is words from first on. It does nothing without a budget.
func (s *KeyShare) Renew(state int16, made, first int16, begin []uint64) {
	if s.Weight == 0 {
		return
	}
	c := s.Code
	mark := c.Stack
	born := c.Alloc(8)
	fresh, broken, end := c.Label(), c.Label(), c.Label()
	c.Load(asm.R1, state)
	c.Emit(asm.LoadMem(asm.R0, asm.R1, made, asm.DWord))
	c.Store(born, asm.R0)
	c.IfImm(asm.JEq, asm.R0, 0, fresh)
	s.Since(born, broken)
	c.GoTo(end)
	c.Place(broken)
	c.Count(s.Stats, load.StatBroken)
	c.Load(asm.R2, state)
	for i, w := range begin {
		c.Constant(asm.R1, int64(w))
		c.Emit(asm.StoreMem(asm.R2, first+int16(8*i), asm.R1, asm.DWord))
	}
	c.Place(fresh)
	c.Call(asm.FnKtimeGetNs)
	c.Load(asm.R1, state)
	c.Emit(asm.StoreMem(asm.R1, made, asm.R0, asm.DWord))
	c.Place(end)
	c.Stack = mark
}
