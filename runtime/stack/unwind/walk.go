package unwind

import (
	"debug/elf"
	"math/bits"
)

// This file implements one step of a walk: from the registers of a function to
// the registers of its caller.

// A step is the outcome of one step.
type step uint8

const (
	stepOn     step = iota // reached the caller, at its return address
	stepSignal             // reached code that a signal interrupted
	stepEnd
	stepShort
	stepAway // the callers are on another stack
	stepNone
	stepBad
)

// An arch has the roles of an architecture's registers, by DWARF numbers.
type arch struct {
	machine elf.Machine
	sp, fp  uint8
	lr      uint8    // register in which calls leave the return address; 0: on the stack
	order   [64]int8 // DWARF numbers by bit of the kernel's mask, -1 for none
	pcBit   uint     // bit of the pc in the mask
	pc      uint8    // DWARF number by which rules may read the pc, 0 for none
	codeEnd uint64   // bits that belong to an address; others may be a signature
}

// The kernel's enum perf_event_x86_regs: ax bx cx dx si di bp sp ip flags cs
// ss ds es fs gs r8 to r15. DWARF counts ax dx cx bx si di bp sp r8 to r15.
var amd64 = arch{machine: elf.EM_X86_64, sp: 7, fp: 6, pcBit: 8, pc: 16, codeEnd: 1<<57 - 1,
	order: [64]int8{0, 3, 2, 1, 4, 5, 6, 7, -1, -1, -1, -1, -1, -1, -1, -1, 8, 9, 10, 11, 12, 13, 14, 15}}

// enum perf_event_arm_regs for arm64: x0 to x30 (lr), sp, pc; DWARF the same.
// The pointer authentication of arm64 puts signatures above bit 48.
var arm64 = arch{machine: elf.EM_AARCH64, sp: 31, fp: 29, lr: 30, pcBit: 32, codeEnd: 1<<48 - 1,
	order: [64]int8{
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
		27, 28, 29, 30, 31, -1,
	}}

func archOf(m elf.Machine) *arch {
	switch m {
	case elf.EM_X86_64:
		return &amd64
	case elf.EM_AARCH64:
		return &arm64
	}
	return nil
}

// Mask is the sample_regs_user that unwinding needs; 0 for an unsupported
// machine. EM_NONE stands for the machine of this process.
func Mask(m elf.Machine) uint64 {
	if m == elf.EM_NONE {
		m = ownMachine()
	}
	switch m {
	case elf.EM_X86_64:
		return 0xff01ff // all except flags and segments
	case elf.EM_AARCH64:
		return 1<<33 - 1
	}
	return 0
}

// walk is the state of a walk: the registers, the copy of the stack, and flags about lost
// data.
type walk struct {
	arch  *arch
	regs  [numRegs]uint64
	pc    uint64
	stack []byte
	base  uint64 // address of stack[0]
	short bool   // memory above the copy was needed
	away  bool   // a handler ran on a stack of its own, and has been left
	// spLost says that the stack pointer is only a lower bound: on arm64 it
	// does not follow from the frame pointer.
	spLost bool
}

// begin sets the registers from a sample.
func (w *walk) begin(a *arch, mask uint64, regs []uint64, stack []byte) bool {
	if len(regs) != bits.OnesCount64(mask) || mask>>a.pcBit&1 == 0 || mask>>a.spBit()&1 == 0 {
		return false
	}
	w.arch, w.stack, w.short, w.away, w.spLost = a, stack, false, false, false
	w.regs = [numRegs]uint64{}
	i := 0
	for m := mask; m != 0; m &= m - 1 {
		bit := uint(bits.TrailingZeros64(m))
		if bit == a.pcBit {
			w.pc = regs[i]
		} else if bit < 33 && a.order[bit] >= 0 {
			w.regs[a.order[bit]] = regs[i]
		}
		i++
	}
	w.base = w.regs[a.sp]
	return w.pc != 0
}

// spBit returns the bit of the stack pointer in the kernel's mask.
func (a *arch) spBit() uint {
	if a.machine == elf.EM_AARCH64 {
		return 31
	}
	return 7
}

// word reads 8 bytes of the stack.
func (w *walk) word(addr uint64) (uint64, bool) {
	off := addr - w.base
	if off > uint64(len(w.stack)) || uint64(len(w.stack))-off < 8 {
		w.short = w.short || addr >= w.base
		return 0, false
	}
	return le.Uint64(w.stack[off:]), true
}

// lost is the outcome if memory could not be read.
func (w *walk) lost() step {
	if w.away {
		return stepAway
	}
	if w.short {
		return stepShort
	}
	return stepBad
}

// byRules steps to the caller by call frame information. inner says that the
// code was interrupted here, so that the pc is not a return address.
func (w *walk) byRules(t *ruleTable, r *ruleSet, inner bool) step {
	a := w.arch
	if a.pc != 0 {
		w.regs[a.pc] = w.pc
	}
	var cfa uint64
	if r.flags&cfaExpr != 0 {
		v, ok := w.eval(t.expr[r.cfaOff], 0, false)
		if !ok {
			return w.lost()
		}
		cfa = v
	} else if w.spLost && r.cfaReg == a.sp {
		off, ok := t.savedFP(r, a)
		if !ok {
			return w.byPointer(w.pc)
		}
		cfa = w.regs[a.fp] - uint64(int64(off)) // where the previous one is saved
	} else {
		cfa = w.regs[r.cfaReg] + uint64(int64(r.cfaOff))
	}
	next := w.regs
	next[a.sp] = cfa
	returns := a.lr != 0 && inner // a leaf of arm64 saves nothing
	for i := r.first; i < r.first+uint32(r.n); i++ {
		rule := &t.pool[i]
		var v uint64
		ok := true
		switch rule.kind {
		case undefined:
			if rule.reg == r.ra {
				return stepEnd
			}
			continue
		case atOffset:
			v, ok = w.word(cfa + uint64(int64(rule.off)))
		case valOffset:
			v = cfa + uint64(int64(rule.off))
		case inRegister:
			v = w.regs[rule.off]
		case atExpr:
			if v, ok = w.eval(t.expr[rule.off], cfa, true); ok {
				v, ok = w.word(v)
			}
		case valExpr:
			v, ok = w.eval(t.expr[rule.off], cfa, true)
		}
		if !ok {
			if rule.reg == r.ra || rule.reg == a.sp {
				return w.lost()
			}
			// The place is below the stack pointer, in the middle of an
			// epilogue: the register was already restored.
			continue
		}
		next[rule.reg] = v
		returns = returns || rule.reg == r.ra
	}
	if !returns {
		return stepEnd
	}
	signal := r.flags&signalHere != 0
	if up := next[a.sp] > w.regs[a.sp]; !up && !signal {
		// A leaf function of arm64 has no frame.
		if a.lr == 0 || !inner || next[a.sp] != w.regs[a.sp] {
			return stepBad
		}
	}
	pc := next[r.ra] & a.codeEnd
	if pc == 0 {
		return stepEnd
	}
	w.regs, w.pc, w.spLost = next, pc, false
	if signal {
		w.leave(next[a.sp])
		return stepSignal
	}
	return stepOn
}

// byPointer steps to the caller by the frame pointer, which Go and JIT
// compilers keep, and some programs without tables. It must point to a pair of
// addresses higher up the stack, else it is not a frame.
func (w *walk) byPointer(pc uint64) step {
	a := w.arch
	fp := w.regs[a.fp]
	if fp == 0 && pc != 0 {
		return stepNone
	}
	if fp&7 != 0 || fp < w.regs[a.sp] {
		return stepNone
	}
	if fp-w.base >= uint64(len(w.stack)) {
		if fp-w.base < 8<<20 {
			return stepShort
		}
		return stepNone
	}
	before, ok1 := w.word(fp)
	ret, ok2 := w.word(fp + 8)
	if !ok1 || !ok2 {
		return stepShort
	}
	if ret &= a.codeEnd; ret == 0 {
		return stepEnd
	}
	if before != 0 && before <= fp {
		return stepNone
	}
	w.regs[a.fp], w.regs[a.sp], w.pc = before, fp+16, ret
	if a.lr != 0 {
		// The pair can be anywhere in its frame, and is often at the bottom.
		w.regs[a.sp], w.spLost = fp, true
	}
	return stepOn
}

// byStub steps out of a stub of the procedure linkage table, which has no
// frame. On amd64 linkers describe most stubs in the tables, on arm64 none.
func (w *walk) byStub() step {
	a := w.arch
	if a.lr != 0 {
		w.pc = w.regs[a.lr] & a.codeEnd
		return stepOn
	}
	ret, ok := w.word(w.regs[a.sp])
	if !ok {
		return w.lost()
	}
	w.regs[a.sp] += 8
	w.pc = ret
	return stepOn
}

// Offsets in the frames that the kernel makes for signal handlers, relative to
// the stack pointer at the handler's return: struct rt_sigframe of
// arch/x86/include/asm/sigframe.h after pretcode, and of
// arch/arm64/kernel/signal.c.
const (
	amd64Context = 40      // uc.uc_mcontext: r8 to r15, di si bp bx dx ax cx sp ip
	arm64Context = 304 + 8 // uc.uc_mcontext.regs: x0 to x30, sp, pc
)

var amd64Saved = [...]uint8{8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7}

// leave records whether the interrupted code was on another stack than the
// handler. On the same stack, the kernel puts the handler's frame close to the
// interrupted stack pointer.
func (w *walk) leave(sp uint64) {
	const close = 64 << 10
	w.away = w.away || sp < w.base || sp-w.base > uint64(len(w.stack))+close
}

// bySignal steps from a handler's return address to the code that the signal
// interrupted.
func (w *walk) bySignal() step {
	sp := w.regs[w.arch.sp]
	next := w.regs
	at := sp + amd64Context
	saved := amd64Saved[:]
	var all [32]uint8
	if w.arch.lr != 0 {
		at = sp + arm64Context
		for i := range all {
			all[i] = uint8(i)
		}
		saved = all[:]
	}
	for _, reg := range saved {
		v, ok := w.word(at)
		if !ok {
			return w.lost()
		}
		next[reg] = v
		at += 8
	}
	pc, ok := w.word(at)
	if !ok {
		return w.lost()
	}
	if pc == 0 {
		return stepEnd
	}
	w.regs, w.pc = next, pc
	w.leave(next[w.arch.sp])
	return stepSignal
}
