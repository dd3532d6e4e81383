package assembler

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/load"
)

// This file lets a budget decide which events count, before anything else is done with them.
// One word says how many events each that counts stands for: 1 is all of them, 64 one of 64 by
// chance, 0 none. What counts keeps the weight of its moment, so that the word can change at any
// time. Each hit is counted, and of one in some the time is taken, so that it is known what the
// program costs: the kernel's own statistics would slow down all programs of the machine.

// timed is the number of hits of which one has its run time measured, a power of two.
const timed = load.Timed

// Open jumps to exit while no events count, which is before the run begins and when it has ended: its
// programs are attached one after the other, and each attaching causes events of its own. A program
// with a Gate tests the same word there.
func Open(c *Code, exit Label) {
	c.MapValue(asm.R1, load.WeightMap.Of(), 0)
	c.Emit(asm.LoadMem(asm.R1, asm.R1, load.WeightNow, asm.DWord))
	c.IfImm(asm.JEq, asm.R1, 0, exit)
}

// A Weight is the place of the stack with the weight of the event; 0 is none: all events count.
type Weight int16

// A Gate is the begin of a program, which its end completes.
type Gate struct {
	Weight Weight
	began  int16
	stats  load.MapID
}

// NewGate jumps to exit with the events that do not count, but for those of keys that do not, byKey,
// of which state.KeyShare decides. stats are the counters of the program.
func NewGate(c *Code, byKey bool, stats load.MapID, exit Label) Gate {
	g := Gate{Weight: Weight(c.Alloc(8)), began: c.Alloc(8), stats: stats}
	w := int16(g.Weight)
	open, decide := c.Label(), c.Label()
	c.Zero(g.began, 8)
	c.Zero(w, 8)
	c.Get(stats, w, exit)
	c.Emit(asm.LoadMem(asm.R1, asm.R0, 8*load.StatHits, asm.DWord), asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R0, 8*load.StatHits, asm.R1, asm.DWord), asm.And.Imm(asm.R1, timed-1))
	c.IfImm(asm.JNE, asm.R1, 0, decide)
	c.Call(asm.FnKtimeGetNs)
	c.Store(g.began, asm.R0)
	alarm(c, g.began, decide)
	c.Place(decide)
	c.MapValue(asm.R1, load.WeightMap.Of(), 0)
	c.Emit(asm.LoadMem(asm.R1, asm.R1, 0, asm.DWord))
	c.Store(w, asm.R1)
	c.IfImm(asm.JEq, asm.R1, 0, exit)
	if byKey {
		return g
	}
	c.IfImm(asm.JEq, asm.R1, 1, open)
	c.Call(asm.FnGetPrandomU32)
	c.Load(asm.R1, w)
	c.Emit(asm.Sub.Imm(asm.R1, 1), asm.And.Reg(asm.R0, asm.R1))
	c.IfImm(asm.JNE, asm.R0, 0, exit)
	c.Place(open)
	return g
}

// forceWakeup is BPF_RB_FORCE_WAKEUP of bpf_ringbuf_output, in uapi/linux/bpf.h.
const forceWakeup = 2

// alarm counts the hits that are timed, and wakes its reader when the alarm's number is down to 0. record is
// eight bytes of the stack. CPUs that count at once may count once, and wake twice: the number is about.
func alarm(c *Code, record int16, others Label) {
	c.MapValue(asm.R1, load.AlarmMap.Of(), 0)
	c.Emit(asm.LoadMem(asm.R2, asm.R1, 0, asm.DWord), asm.Sub.Imm(asm.R2, 1),
		asm.StoreMem(asm.R1, 0, asm.R2, asm.DWord))
	c.IfImm(asm.JNE, asm.R2, 0, others)
	c.MapPtr(asm.R1, load.BellMap.Of())
	c.Addr(asm.R2, record)
	c.Emit(asm.Mov.Imm(asm.R3, 8), asm.Mov.Imm(asm.R4, forceWakeup))
	c.Call(asm.FnRingbufOutput)
}

// Moment is the weight of events of this moment, for a program that brings on what waited: of a gate
// it passed before.
func Moment(c *Code) Weight {
	w := c.Alloc(8)
	open := c.Label()
	c.MapValue(asm.R1, load.WeightMap.Of(), 0)
	c.Emit(asm.LoadMem(asm.R1, asm.R1, 0, asm.DWord))
	c.IfImm(asm.JNE, asm.R1, 0, open)
	c.Emit(asm.Mov.Imm(asm.R1, 1))
	c.Place(open)
	c.Store(w, asm.R1)
	return Weight(w)
}

// OneOf lets one event of so many through, as the kernel samples on a CPU: the last one of them.
// stats are the counters of the program.
func OneOf(c *Code, period uint64, stats load.MapID, others Label) {
	if period < 2 {
		return
	}
	mark, taken := c.Stack, c.Label()
	at := c.Alloc(8)
	c.Zero(at, 8)
	c.Get(stats, at, others)
	c.Emit(asm.LoadMem(asm.R1, asm.R0, 8*load.StatSkipped, asm.DWord), asm.Add.Imm(asm.R1, 1))
	c.Constant(asm.R2, int64(period))
	c.IfReg(asm.JGE, asm.R1, asm.R2, taken)
	c.Emit(asm.StoreMem(asm.R0, 8*load.StatSkipped, asm.R1, asm.DWord))
	c.GoTo(others)
	c.Place(taken)
	c.Emit(asm.Mov.Imm(asm.R1, 0), asm.StoreMem(asm.R0, 8*load.StatSkipped, asm.R1, asm.DWord))
	c.Stack = mark
}

// End stands where the program ends, whichever way it went.
func (g Gate) End(c *Code) {
	if g.Weight == 0 {
		return
	}
	over := c.Label()
	key, took := int16(g.Weight), int16(g.Weight)+4
	c.Load(asm.R1, g.began)
	c.IfImm(asm.JEq, asm.R1, 0, over)
	c.Call(asm.FnKtimeGetNs)
	c.Load(asm.R1, g.began)
	c.Emit(asm.Sub.Reg(asm.R0, asm.R1))
	c.Zero(key, 8)
	c.Emit(asm.StoreMem(asm.R10, took, asm.R0, asm.Word))
	c.Get(g.stats, key, over)
	add := func(stat int, n ...asm.Instruction) {
		c.Emit(n...)
		c.Emit(asm.LoadMem(asm.R1, asm.R0, int16(8*stat), asm.DWord), asm.Add.Reg(asm.R1, asm.R2),
			asm.StoreMem(asm.R0, int16(8*stat), asm.R1, asm.DWord))
	}
	add(load.StatTime, asm.LoadMem(asm.R2, asm.R10, took, asm.Word))
	add(load.StatTimed, asm.Mov.Imm(asm.R2, 1))
	// How fast hits came since the last one that was timed: the thread that makes them ran all that time,
	// unless it was long.
	c.Load(asm.R1, g.began)
	c.Emit(asm.LoadMem(asm.R3, asm.R0, 8*load.StatLast, asm.DWord),
		asm.StoreMem(asm.R0, 8*load.StatLast, asm.R1, asm.DWord),
		asm.Sub.Reg(asm.R1, asm.R3), asm.Mov.Reg(asm.R3, asm.R1))
	add(load.StatPace, asm.Mov.Imm(asm.R2, load.PaceOne), asm.Div.Reg(asm.R2, asm.R3))
	c.Place(over)
}
