package assembler

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/load"
)

// This file lets a budget decide which events count, before a program does anything else with
// them. One word, the weight, says how many events each event that counts stands for: with 1 all
// events count, with 64 one of 64 by chance, with 0 none. An event keeps the weight of its
// moment, so that user space can change the word at any time. Each hit (a run of the program) is
// counted, and the time of some is measured, so that the cost of the program is known: the
// kernel's own statistics would slow down all programs of the machine.

// timed is a number of hits, a power of two: the run time of one of so many is
// measured.
const timed = load.Timed

// Open jumps to exit while no events count: before the run begins and after its end. Programs are
// attached one after the other, and attaching one causes events itself. A program with a Gate does
// not need Open: the Gate tests the same word.
func Open(c *Code, exit Label) {
	c.MapValue(asm.R1, load.WeightMap.Of(), 0)
	c.Emit(asm.LoadMem(asm.R1, asm.R1, load.WeightNow, asm.DWord))
	c.IfImm(asm.JEq, asm.R1, 0, exit)
}

// A Weight is the place of the event's weight; 0 if events have no weights and all count.
type Weight int16

// A Gate is the begin of a program that a budget controls: it drops events that
// do not count, and starts to measure the time. End is its counterpart.
type Gate struct {
	Weight Weight
	began  int16
	stats  load.MapID
}

// NewGate jumps to exit if the event does not count. With byKey it does so only if no events count;
// state.KeyShare decides about the rest by their keys. stats are the counters of the program.
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

// alarm counts the alarm's number down at each timed hit, and wakes its reader when the number
// reaches 0. record is a place of eight bytes, which are sent; their content does not matter. CPUs
// that count at the same time may count only once or wake twice: the number is approximate.
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

// Moment is the weight of events at this moment, at least 1. It is for programs that handle events
// which waited and have passed a Gate already.
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

// OneOf jumps to others for all but the last of each period events, as the kernel samples on a
// CPU. stats are the counters of the program.
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

// End measures the time of the hit. Every path through the program ends there.
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
	// The pace: how fast hits came since the last timed hit. The thread that causes them ran all
	// that time, unless the time was long.
	c.Load(asm.R1, g.began)
	c.Emit(asm.LoadMem(asm.R3, asm.R0, 8*load.StatLast, asm.DWord),
		asm.StoreMem(asm.R0, 8*load.StatLast, asm.R1, asm.DWord),
		asm.Sub.Reg(asm.R1, asm.R3), asm.Mov.Reg(asm.R3, asm.R1))
	add(load.StatPace, asm.Mov.Imm(asm.R2, load.PaceOne), asm.Div.Reg(asm.R2, asm.R3))
	c.Place(over)
}
