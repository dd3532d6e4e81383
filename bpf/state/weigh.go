package state

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/runtime/operator/agg"
)

// This file counts events that stand for others, since a budget leaves some out. Each counts as
// often as its weight says; the next event may have another weight. If events are kept with
// probability 1/w, the sum of w over the kept events is on average the number of all events, and
// the sum of w(w-1) is on average the square of its error (Horvitz and Thompson). The same holds
// for values, with w times the value and w(w-1) times its square.

// one leaves in dst the number of events for which this one stands.
func one(c *assembler.Code, dst asm.Register, w assembler.Weight) {
	if w == 0 {
		c.Emit(asm.Mov.Imm(dst, 1))
		return
	}
	c.Load(dst, int16(w))
}

// Sum counts the event, and adds R0 to the sum of an argument, if the row has one. R0 is unchanged.
// hash is the place of the key's hash, if keys have weights and not events.
func Sum(c *assembler.Code, at *load.Arg, value, unsigned bool, w assembler.Weight, hash int16) {
	add := func(to int, what asm.Register) {
		c.Emit(asm.LoadMem(asm.R5, asm.R7, int16(to), asm.DWord), asm.Add.Reg(asm.R5, what),
			asm.StoreMem(asm.R7, int16(to), asm.R5, asm.DWord))
	}
	one(c, asm.R3, w)
	add(at.N, asm.R3)
	sums := value && at.Sum >= 0
	if sums {
		c.Emit(asm.Mov.Reg(asm.R2, asm.R0))
		if w != 0 {
			c.Emit(asm.Mul.Reg(asm.R2, asm.R3))
		}
		if w == 0 {
			wide(c, at.Sum, unsigned)
		} else {
			wideProduct(c, at.Sum, unsigned)
		}
	}
	if w == 0 {
		return
	}
	sure := c.Label()
	c.IfImm(asm.JEq, asm.R3, 1, sure)
	if hash != 0 {
		cluster(c, at, sums, hash)
		c.Place(sure)
		return
	}
	c.Emit(asm.Mov.Reg(asm.R4, asm.R3), asm.Sub.Imm(asm.R4, 1), asm.Mul.Reg(asm.R4, asm.R3))
	add(at.Spread+load.SpreadN, asm.R4)
	if sums {
		small := c.Label()
		// (w*value)*(w*value) less its w-th part is w(w-1) times the square of the value.
		square := func(to int) {
			c.Emit(asm.Mul.Reg(asm.R2, asm.R2), asm.Mov.Reg(asm.R4, asm.R2), asm.Div.Reg(asm.R4, asm.R3),
				asm.Sub.Reg(asm.R2, asm.R4))
			add(at.Spread+to, asm.R2)
		}
		c.Absolute(asm.R2)
		c.IfImm(asm.JLT, asm.R2, load.SpreadSmall, small)
		c.Emit(asm.RSh.Imm(asm.R2, load.SpreadShift))
		square(load.SpreadHigh)
		c.GoTo(sure)
		c.Place(small)
		square(load.SpreadLow)
	}
	c.Place(sure)
}

// wide adds R2 to a sum of two words. It overwrites R5.
func wide(c *assembler.Code, sum int, unsigned bool) {
	carry := func(by int32) {
		c.Emit(asm.LoadMem(asm.R5, asm.R7, int16(sum+8), asm.DWord), asm.Add.Imm(asm.R5, by),
			asm.StoreMem(asm.R7, int16(sum+8), asm.R5, asm.DWord))
	}
	c.Emit(asm.LoadMem(asm.R5, asm.R7, int16(sum), asm.DWord), asm.Add.Reg(asm.R5, asm.R2),
		asm.StoreMem(asm.R7, int16(sum), asm.R5, asm.DWord))
	done, negative := c.Label(), c.Label()
	if !unsigned {
		c.IfImm(asm.JSLT, asm.R2, 0, negative)
	}
	c.IfReg(asm.JGE, asm.R5, asm.R2, done)
	carry(1)
	if !unsigned {
		c.GoTo(done)
		c.Place(negative)
		c.IfReg(asm.JLT, asm.R5, asm.R2, done) // the carry cancels the extension of the sign
		carry(-1)
	}
	c.Place(done)
}

// wideProduct adds R0 times R3, a weight below 1<<32, to a sum of two words. R2 must be the low
// word of the product. It overwrites R4 and R5.
func wideProduct(c *assembler.Code, sum int, unsigned bool) {
	shift := asm.ArSh
	if unsigned {
		shift = asm.RSh
	}
	// The halves of R0 are multiplied separately: the carry of the low product is added to the
	// high one.
	c.Emit(asm.Mov.Reg(asm.R5, asm.R0), asm.LSh.Imm(asm.R5, 32), asm.RSh.Imm(asm.R5, 32),
		asm.Mul.Reg(asm.R5, asm.R3), asm.RSh.Imm(asm.R5, 32),
		asm.Mov.Reg(asm.R4, asm.R0), shift.Imm(asm.R4, 32), asm.Mul.Reg(asm.R4, asm.R3),
		asm.Add.Reg(asm.R4, asm.R5), shift.Imm(asm.R4, 32),
		asm.LoadMem(asm.R5, asm.R7, int16(sum), asm.DWord), asm.Add.Reg(asm.R5, asm.R2),
		asm.StoreMem(asm.R7, int16(sum), asm.R5, asm.DWord))
	carried := c.Label()
	c.IfReg(asm.JGE, asm.R5, asm.R2, carried)
	c.Emit(asm.Add.Imm(asm.R4, 1))
	c.Place(carried)
	c.Emit(asm.LoadMem(asm.R5, asm.R7, int16(sum+8), asm.DWord), asm.Add.Reg(asm.R5, asm.R4),
		asm.StoreMem(asm.R7, int16(sum+8), asm.R5, asm.DWord))
}

// cluster adds the event to the sums from which the error of a share of keys is estimated. If keys
// are kept with probability 1/w, the square of the error is the sum over the keys of w(w-1) times
// the square of the key's total. There is no room for a total of each key. But if each event is
// added to one of a few sums, which its key's hash chooses, with a sign that the hash chooses too,
// the squares of these sums add up to that on average: products of two keys have either sign
// (Charikar, Chen and Farach-Colton). R3 is the weight; w-1/2, counted in halves, approximates the
// root of w(w-1).
func cluster(c *assembler.Code, at *load.Arg, sums bool, hash int16) {
	positive := c.Label()
	c.Emit(asm.Mov.Reg(asm.R4, asm.R3), asm.Add.Reg(asm.R4, asm.R3), asm.Sub.Imm(asm.R4, 1))
	c.Load(asm.R5, hash)
	c.IfImm(asm.JSGE, asm.R5, 0, positive)
	c.Emit(asm.Neg.Imm(asm.R4, 0))
	c.Place(positive)
	c.Emit(asm.RSh.Imm(asm.R5, 40), asm.And.Imm(asm.R5, agg.Clusters-1), asm.LSh.Imm(asm.R5, 3),
		asm.Add.Reg(asm.R5, asm.R7))
	add := func(to int) {
		c.Emit(asm.LoadMem(asm.R1, asm.R5, int16(to), asm.DWord), asm.Add.Reg(asm.R1, asm.R4),
			asm.StoreMem(asm.R5, int16(to), asm.R1, asm.DWord))
	}
	add(at.Spread)
	if sums {
		c.Emit(asm.Mul.Reg(asm.R4, asm.R0))
		add(at.Spread + 8*agg.Clusters)
	}
}
