package state

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
)

// This file generates code that leaves out keys, if a budget lets one of 2, 4, ... keys count.
// All events of a key that counts do count, so joins and folds give the results that they
// would give without a budget, for fewer keys.
//
// A hash of the key with a salt of the run decides which keys count. The keys that count at one of
// four also count at one of two, so a key that counts continues to count when the share grows. A
// waiting event counts only if its key counted all the time since: else events in between were left
// out, and it is given up.

// A KeyShare decides whether the key of an event counts.
type KeyShare struct {
	Code   *assembler.Code
	Weight assembler.Weight // number of keys for which each key that counts stands
	Stats  load.MapID       // the counters of the program
	// Hash is the place of the key's hash, after Test, Chance or Passed.
	Hash int16
}

// mix is a large odd number, near 2^64 divided by the golden ratio.
const mix = -0x61c8864680b583eb

// Test jumps to out if the key does not count. The key is size bytes at a place. Without a
// budget it does nothing.
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

// Chance is Test for an event without a key, which counts by chance.
func (s *KeyShare) Chance(out assembler.Label) {
	s.Hash = s.Code.Alloc(8)
	s.random()
	s.decide(out)
}

// Passed is Chance for an event that has passed a test already, before it
// waited.
func (s *KeyShare) Passed() {
	s.Hash = s.Code.Alloc(8)
	s.Weight = assembler.Moment(s.Code)
	s.random()
}

// random leaves a random hash in R0 and at its place.
func (s *KeyShare) random() {
	c := s.Code
	c.Call(asm.FnGetPrandomU32)
	c.Constant(asm.R2, mix)
	s.stir(32)
	s.stir(29)
	c.Store(s.Hash, asm.R0)
}

// stir multiplies R0 by R2, and mixes the upper bits into the lower ones.
func (s *KeyShare) stir(shift int32) {
	s.Code.Emit(asm.Mul.Reg(asm.R0, asm.R2), asm.Mov.Reg(asm.R3, asm.R0), asm.RSh.Imm(asm.R3, shift),
		asm.Xor.Reg(asm.R0, asm.R3))
}

// decide jumps to out unless the key of the hash counts. It counts the events that came, and
// for how many events the ones that count stand: if few keys have most events, these numbers
// differ much.
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

// Since returns the weight of keys that counted all the time since the moment at the place begun.
// It jumps to broken if this key did not.
func (s *KeyShare) Since(begun int16, broken assembler.Label) assembler.Weight {
	c := s.Code
	w := c.Alloc(8)
	known, told := c.Label(), c.Label()
	c.MapValue(asm.R1, load.WeightMap.Of(), 0)
	c.Load(asm.R3, begun)
	c.Load(asm.R4, int16(s.Weight))
	c.Emit(asm.LoadMem(asm.R2, asm.R1, load.WeightChanged, asm.DWord))
	c.IfReg(asm.JGE, asm.R3, asm.R2, told)
	// Slow path: the share has changed. The weight is that of the smallest
	// share since then.
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

// Renew resets a state whose key did not count all the time since the state was made. state is the
// place of its address, made the offset of the time when it was made (0 if new), first the offset
// of the words that begin resets. Without a budget it does nothing.
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
