package bucket

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
)

// This file counts events that stand for others, since a budget leaves some out: each as many
// times as its weight says, which may be another one for the next event. If events are kept with
// probability 1/w, the sum of w over those that are kept is how many there were, on average over
// all that chance could do, and the sum of w(w-1) how much the square of its error is (Horvitz
// and Thompson). With values it is the same: w times the value, and w(w-1) times its square.

// one leaves in dst how many events this one stands for.
func one(c *assembler.Code, dst asm.Register, w assembler.Weight) {
	if w == 0 {
		c.Emit(asm.Mov.Imm(dst, 1))
		return
	}
	c.Load(dst, int16(w))
}

// Sum counts the event, and adds R0 to the sum of an argument, if it has one. R0 stays.
func Sum(c *assembler.Code, at *load.Arg, value bool, w assembler.Weight) {
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
		add(at.Sum, asm.R2)
	}
	if w == 0 {
		return
	}
	sure := c.Label()
	c.IfImm(asm.JEq, asm.R3, 1, sure)
	c.Emit(asm.Mov.Reg(asm.R4, asm.R3), asm.Sub.Imm(asm.R4, 1), asm.Mul.Reg(asm.R4, asm.R3))
	add(at.Spread+load.SpreadN, asm.R4)
	if sums {
		small := c.Label()
		// The square of w times the value, less its w-th part, is w(w-1) times that of the value.
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
