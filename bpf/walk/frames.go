package walk

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/runtime/stack/unwind"
)

// A walk begins with the registers that the task had as it entered the kernel, or was
// interrupted. The body of the loop is a function of its own, which the verifier looks at once
// for all turns; what it goes on with lies in the memory of the stack, of which the verifier
// assumes nothing.
//
// Each turn writes an address, finds the range that it lies in (most often that of the turn
// before), the block, the row, the rule, and reads 64 bytes below the CFA: the return address
// and all that the function saved lie there nearly always.
//
// The tempting other ways cost more: one binary search over the rows of a file has 15 to 20
// steps, each with a look-up in a map, where the rows of a block are in one value and are found
// in as many steps as they need; and the kernel's trie of prefixes, asked by process and
// address for each frame, takes as long as all else.

// Where things are in the state of a walk.
const (
	sp = 8 * iota
	bp
	bx
	pc
	called   // 1 if the code was returned to, 0 if it was interrupted
	n        // bytes of addresses
	limit    // of these
	rangesAt // those of the process: the first, then how many
	start    // of the range at hand, a copy
	length
	delta
	blocks
	stop   // load.WalkStop
	by     // frames by pointer
	others // 1 while r10 and r12 to r15 are those of the frame
	r10
	r12
	r13
	r14
	r15
	end   // row behind those of the block
	page  // number of it
	newBP // of the caller
	newBX
	whole                   // 1 if all of buf was read
	buf                     // what was read of the stack
	Size  = buf + 17*8      // of the state
	frame = 64              // bytes that are read below a CFA
	last  = frame - 8 + buf // where its return address is
)

// Offsets in struct pt_regs of amd64, and the code segment of 64-bit programs.
const (
	regR15, regR14, regR13, regR12 = 0, 8, 16, 24
	regBP, regBX, regR10           = 32, 40, 56
	regIP, regCS, regSP            = 128, 136, 152
	userCS                         = 0x33
)

// maxFrame bounds the distance of a frame pointer from the stack pointer.
const maxFrame = 8 << 20

// again is how long a program waits until it asks for a process again, in ns.
const again = 20e6

// A frameWalker walks the user stack of the running task.
type frameWalker struct {
	*assembler.Code
	Memory load.MapID // where stacks are walked, of which R7 has the only value
	State  int        // where the state lies in it
	Words  int        // where the addresses go, and for how many there is room
	Room   int
	PID    int16 // place with the process, which is a u32
}

// user writes the addresses of the user stack, at most as many as most leaves beside the R8 bytes
// that there are, and leaves their size in R8. It jumps to pointers if nothing is known of the
// process, or of the code where it was interrupted, or if it is none of 64 bits.
func (w *frameWalker) user(most int, pointers assembler.Label) {
	c := w.Code
	mark := c.Stack
	key, message := c.Alloc(8), c.Alloc(8)
	unknown, known, fresh := c.Label(), c.Label(), c.Label()
	c.Call(asm.FnGetCurrentTaskBtf)
	c.Emit(asm.Mov.Reg(asm.R1, asm.R0))
	c.Call(asm.FnTaskPtRegs)
	c.Emit(asm.LoadMem(asm.R1, asm.R0, regCS, asm.Half))
	c.IfImm(asm.JNE, asm.R1, userCS, pointers)
	for _, r := range [][2]int{
		{regSP, sp}, {regBP, bp}, {regBX, bx}, {regIP, pc}, {regR10, r10},
		{regR12, r12}, {regR13, r13}, {regR14, r14}, {regR15, r15},
	} {
		c.Emit(asm.LoadMem(asm.R1, asm.R0, int16(r[0]), asm.DWord))
		w.put(asm.R7, r[1], asm.R1)
	}
	for _, at := range []int{called, n, length, by} {
		w.putImm(asm.R7, at, 0)
	}
	w.putImm(asm.R7, others, 1)
	w.putImm(asm.R7, stop, int32(load.WalkDeep))
	c.Emit(asm.Mov.Imm(asm.R1, int32(8*most)), asm.Sub.Reg(asm.R1, asm.R8))
	w.put(asm.R7, limit, asm.R1)

	c.Emit(asm.LoadMem(asm.R1, asm.R10, w.PID, asm.Word), asm.StoreMem(asm.R10, key, asm.R1, asm.Word))
	c.Get(load.WalkProcsMap.Of(), key, unknown)
	c.Emit(asm.LoadMem(asm.R2, asm.R7, load.ChainTask+4, asm.Word), asm.Add.Imm(asm.R2, 1),
		asm.Mov.Reg32(asm.R2, asm.R2), asm.LoadMem(asm.R1, asm.R0, load.WalkProcExec, asm.Word))
	c.IfImm(asm.JEq, asm.R1, 0, fresh)
	c.IfReg(asm.JNE, asm.R1, asm.R2, unknown) // it runs another program by now
	c.GoTo(known)
	c.Place(fresh)
	c.Emit(asm.StoreMem(asm.R0, load.WalkProcExec, asm.R2, asm.Word))
	c.Place(known)
	c.Emit(asm.LoadMem(asm.R1, asm.R0, load.WalkProcAt, asm.DWord))
	w.put(asm.R7, rangesAt, asm.R1)
	assembler.Repeat(c, "walk_frame", most, w.turn)

	ended, there := c.Label(), c.Label()
	w.get(asm.R1, asm.R7, stop)
	c.IfImm(asm.JNE, asm.R1, int32(load.WalkNoCode), ended)
	w.ask(key, message)
	w.get(asm.R1, asm.R7, n)
	c.IfImm(asm.JGT, asm.R1, 8, there)
	w.count(key, load.WalkUnknown)
	c.GoTo(pointers)
	c.Place(there)
	c.Emit(asm.Sub.Imm(asm.R1, 8)) // no code: no address of this stack
	w.put(asm.R7, n, asm.R1)
	c.GoTo(ended)

	c.Place(unknown)
	w.ask(key, message)
	w.count(key, load.WalkUnknown)
	c.GoTo(pointers)

	c.Place(ended)
	w.ended(key, most)
	c.Stack = mark
}

// ended counts how a walk ended, and notes what it found.
func (w *frameWalker) ended(key int16, most int) {
	c := w.Code
	done, uncounted := c.Label(), c.Label()
	c.Zero(key, 8)
	c.Get(load.WalkStatsMap.Of(), key, uncounted)
	add := func(stat load.WalkStop) {
		c.Emit(asm.LoadMem(asm.R2, asm.R0, int16(8*stat), asm.DWord), asm.Add.Reg(asm.R2, asm.R1),
			asm.StoreMem(asm.R0, int16(8*stat), asm.R2, asm.DWord))
	}
	w.get(asm.R1, asm.R7, by)
	add(load.WalkPointers)
	w.get(asm.R1, asm.R7, n)
	c.Emit(asm.RSh.Imm(asm.R1, 3))
	add(load.WalkFrames)
	w.get(asm.R1, asm.R7, stop)
	c.IfImm(asm.JGT, asm.R1, int32(load.WalkComplex), uncounted)
	c.Emit(asm.LSh.Imm(asm.R1, 3), asm.Add.Reg(asm.R0, asm.R1),
		asm.LoadMem(asm.R2, asm.R0, 0, asm.DWord), asm.Add.Imm(asm.R2, 1),
		asm.StoreMem(asm.R0, 0, asm.R2, asm.DWord))
	c.Place(uncounted)
	w.get(asm.R8, asm.R7, n)
	c.Emit(asm.StoreMem(asm.R7, load.ChainUser, asm.R8, asm.DWord))
	w.get(asm.R2, asm.R7, stop)
	c.Constant(asm.R1, load.ChainUnwound|int64(most))
	c.IfImm(asm.JEq, asm.R2, int32(load.WalkEnd), done)
	c.Constant(asm.R1, load.ChainUnwound|load.ChainCut|int64(most))
	c.Place(done)
	c.Emit(asm.StoreMem(asm.R7, load.ChainMax, asm.R1, asm.DWord))
}

// count adds 1 to a counter.
func (w *frameWalker) count(key int16, stat load.WalkStop) {
	w.Zero(key, 8)
	none := w.Label()
	w.Get(load.WalkStatsMap.Of(), key, none)
	w.Emit(asm.LoadMem(asm.R1, asm.R0, int16(8*stat), asm.DWord), asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R0, int16(8*stat), asm.R1, asm.DWord))
	w.Place(none)
}

// ask asks for the tables of the process, unless that was done just now.
func (w *frameWalker) ask(key, message int16) {
	c := w.Code
	soon, due, new := c.Label(), c.Label(), c.Label()
	c.Emit(asm.LoadMem(asm.R1, asm.R10, w.PID, asm.Word), asm.StoreMem(asm.R10, key, asm.R1, asm.Word))
	c.Call(asm.FnKtimeGetNs)
	c.Store(message, asm.R0)
	c.Get(load.WalkAskedMap.Of(), key, new)
	c.Load(asm.R1, message)
	c.Emit(asm.LoadMem(asm.R2, asm.R0, 0, asm.DWord))
	c.IfReg(asm.JLT, asm.R1, asm.R2, soon)
	c.Emit(asm.Add.Imm(asm.R1, again), asm.StoreMem(asm.R0, 0, asm.R1, asm.DWord))
	c.GoTo(due)
	c.Place(new)
	c.Load(asm.R1, message)
	c.Emit(asm.Add.Imm(asm.R1, again))
	c.Store(message, asm.R1)
	c.Put(load.WalkAskedMap.Of(), key, message, 0)
	c.Place(due)
	c.Emit(asm.LoadMem(asm.R1, asm.R10, key, asm.Word), asm.StoreMem(asm.R10, message, asm.R1, asm.Word),
		asm.LoadMem(asm.R1, asm.R7, load.ChainTask+4, asm.Word),
		asm.StoreMem(asm.R10, message+4, asm.R1, asm.Word))
	c.MapPtr(asm.R1, load.WalkAskMap.Of())
	c.Addr(asm.R2, message)
	c.Emit(asm.Mov.Imm(asm.R3, 8), asm.Mov.Imm(asm.R4, 0))
	c.Call(asm.FnRingbufOutput)
	c.Place(soon)
}

func (w *frameWalker) get(dst, memory asm.Register, at int) {
	w.Emit(asm.LoadMem(dst, memory, int16(w.State+at), asm.DWord))
}

func (w *frameWalker) put(memory asm.Register, at int, src asm.Register) {
	w.Emit(asm.StoreMem(memory, int16(w.State+at), src, asm.DWord))
}

func (w *frameWalker) putImm(memory asm.Register, at int, v int32) {
	w.Emit(assembler.StoreImm(memory, int16(w.State+at), v))
}

// rules of package unwind must be those that programs read.
var _ = [1]struct{}{}[unwind.BlockBits-12]
