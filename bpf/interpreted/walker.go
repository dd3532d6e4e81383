package interpreted

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/features"
)

// This file generates the program.

// Bounds: the frames of a stack, and the threads of a process that are looked through for the running one.
const (
	maxFrames  = 64
	maxThreads = 96
)

// The layout of a stack's memory in a program, in bytes: what is stored comes first.
const (
	stackPID   = 0
	stackCount = 8  // frames
	stackCut   = 16 // 1 if there are more
	stackAt    = 24 // frames
	frameSize  = 24 // code object, place in its code and flags, check
	stackSize  = stackAt + maxFrames*frameSize
	seqAt      = stackSize // how many samples this CPU had
	frameAt    = seqAt + 8 // an interpreter's frame, as read
	frameRoom  = 128       // a power of two
	namesAt    = frameAt + frameRoom + 8
	busyAt     = namesAt + 24 // 1 while a program uses it: one that interrupts that leaves nothing
	memorySize = busyAt + 8
)

// The layout of a Config, which must match its fields.
const (
	cfgStart      = 8 * iota // see Starts
	cfgHead                  // address of the pointer that the search for the innermost frame starts at
	cfgFirst                 // 1 + offset of the first interpreter in what Head leads to; 0 if that is it
	cfgThreads               // offset of the first thread in an interpreter
	cfgNextInterp            // offset of the next interpreter
	cfgNextThread            // offset of the next thread in a thread
	cfgThreadID              // offset of pthread_self() in a thread, or in what has it
	cfgNative                // 1 + offset in a thread of what has its ThreadID; 0 if it has that itself
	cfgFrame                 // offset of the innermost frame, or of what has it
	cfgHolder                // 1 + offset of the innermost frame in what has it; 0 if nothing is between
	cfgStack                 // offset, in what has it, of where frames end: an address, and words from there
	cfgCode                  // offset of the code object in a frame
	cfgBody                  // 1 + offset of the part of it that stays where it is; 0 if that is all of it
	cfgPrevious              // offset of the caller's frame in a frame
	cfgStep                  // bytes from a frame to its caller's, if they lie side by side; 0 if they do not
	cfgInstr                 // offset of the place in the code
	cfgOwner                 // offset of what tells entries
	cfgMask                  // the bits of it that do
	cfgSize                  // bytes of a frame up to the last of these
	cfgEntry                 // see Entries
	cfgStrings               // offset in a code object of three pointers that tell it from others
	cfgBytes
)

// Starts say how the innermost frame of the running thread is found.
const (
	ThreadStart = iota // Head leads to the list of interpreters, each with its threads
	WordStart          // Head is the address of the main thread's frame; others run nothing
)

// Entries say how it is told which frames the interpreter was called for from C, so that frames
// between two of them belong to one call.
const (
	EachEntry    = iota // every frame
	OwnerEntry          // those whose owner's byte is not 0
	FramesEntry         // frames of their own, with an owner from 3 on, that run no code
	BitsEntry           // those whose owner has a bit of Mask
	PointerEntry        // those whose owner points to a word with a bit of Mask
)

// IsEntry is the flag of a place in code of a frame that was called from C.
const IsEntry = 1 << 63

// hashFactor is that of FNV's 64-bit hash.
const hashFactor = 1099511628211

// Maps of the program.
const (
	configMap = "config"
	memoryMap = "memory"
	stacksMap = "stacks"
	ringMap   = "ring"
	freshMap  = "fresh" // stacks that were kept since these were asked for: the process, by hash
	foundMap  = "found" // of the program that is called in turn: the hash of the sample at hand
	nextMap   = "next"  // that program
)

// gen generates the program.
type gen struct {
	*assembler.Code
	out assembler.Label
}

func (g *gen) mapPtr(dst asm.Register, name string) {
	g.Emit(asm.LoadMapPtr(dst, 0).WithReference(name))
}

// look leaves the address of a map's value in R0.
func (g *gen) look(name string, key int16) {
	g.mapPtr(asm.R1, name)
	g.Addr(asm.R2, key)
	g.Call(asm.FnMapLookupElem)
	g.IfImm(asm.JEq, asm.R0, 0, g.out)
}

// config loads a number of the process's Config, which R8 points to.
func (g *gen) config(dst asm.Register, at int16) {
	g.Emit(asm.LoadMem(dst, asm.R8, at, asm.DWord))
}

// follow reads the word of the process that lies at an offset, of its Config, from the address at base.
func (g *gen) follow(to, base, offset int16) {
	g.Load(asm.R3, base)
	g.config(asm.R1, offset)
	g.Emit(asm.Add.Reg(asm.R3, asm.R1))
	g.word(to)
}

// via leaves R0, or what the pointer leads to that lies from there at an offset of the Config, which is told
// as 1 more: 0 is that there is none.
func (g *gen) via(to, offset int16) {
	direct := g.Label()
	g.Store(to, asm.R0)
	g.config(asm.R3, offset)
	g.IfImm(asm.JEq, asm.R3, 0, direct)
	g.Emit(asm.Add.Reg(asm.R3, asm.R0), asm.Sub.Imm(asm.R3, 1))
	g.word(to)
	g.Place(direct)
}

// word reads the word of the process at R3.
func (g *gen) word(to int16) {
	g.Addr(asm.R1, to)
	g.Emit(asm.Mov.Imm(asm.R2, 8))
	g.Call(asm.FnProbeReadUser)
	g.IfImm(asm.JNE, asm.R0, 0, g.out)
}

// field loads a member of the frame that was read, at an offset of the Config.
func (g *gen) field(dst asm.Register, offset int16, size asm.Size) {
	g.config(asm.R1, offset)
	g.Emit(asm.And.Imm(asm.R1, frameRoom-1), asm.Mov.Reg(asm.R2, asm.R7), asm.Add.Reg(asm.R2, asm.R1),
		asm.LoadMem(dst, asm.R2, frameAt, size))
}

// program is the program; tls is where a task has the register of its thread. With front it tells
// another program what it found, and calls it.
func program(tls int32, front bool) asm.Instructions {
	c := assembler.New()
	none, done := c.Label(), c.Label()
	g := &gen{c, none}
	if front {
		g.tell(nil)
	}
	id, key, base, interp := c.Alloc(8), c.Alloc(8), c.Alloc(8), c.Alloc(8)
	thread, frame, hash, val := c.Alloc(8), c.Alloc(8), c.Alloc(8), c.Alloc(8)
	c.Call(asm.FnGetCurrentPidTgid)
	c.Store(id, asm.R0)
	c.Emit(asm.RSh.Imm(asm.R0, 32))
	c.Store(key, asm.R0)
	g.look(configMap, key)
	c.Emit(asm.Mov.Reg(asm.R8, asm.R0))
	c.Zero(key, 8)
	g.look(memoryMap, key)
	c.Emit(asm.Mov.Reg(asm.R7, asm.R0), asm.LoadMem(asm.R1, asm.R7, busyAt, asm.DWord))
	c.IfImm(asm.JNE, asm.R1, 0, none)
	c.Emit(assembler.StoreImm(asm.R7, busyAt, 1))
	g.out = done

	c.Call(asm.FnGetCurrentTask)
	c.Emit(asm.Mov.Reg(asm.R3, asm.R0), asm.Add.Imm(asm.R3, tls))
	c.Addr(asm.R1, base)
	c.Emit(asm.Mov.Imm(asm.R2, 8))
	c.Call(asm.FnProbeReadKernel)
	c.IfImm(asm.JNE, asm.R0, 0, g.out)

	word, found := c.Label(), c.Label()
	g.config(asm.R1, cfgStart)
	c.IfImm(asm.JEq, asm.R1, WordStart, word)
	g.thread(base, interp, thread, val)
	g.innermost(thread, val, frame, base, interp)
	c.GoTo(found)
	c.Place(word)
	g.main(id, frame)
	c.Place(found)

	g.walk(id, frame, base, hash, val)
	if front {
		g.keep(id, key, hash)
		g.tell(&hash)
	} else {
		g.keep(id, key, hash)
		g.leave(id, key, hash, val)
	}
	c.Place(done)
	c.Emit(assembler.StoreImm(asm.R7, busyAt, 0))
	c.Place(none)
	if front {
		c.Emit(asm.Mov.Reg(asm.R1, asm.R6))
		g.mapPtr(asm.R2, nextMap)
		c.Emit(asm.Mov.Imm(asm.R3, 0))
		c.Call(asm.FnTailCall)
	}
	c.Emit(asm.Mov.Imm(asm.R0, 1), asm.Return())
	return c.Finish()
}

// tell leaves the hash of the sample at hand for the next program; nil is of none. R6 has the context
// from the first call on.
func (g *gen) tell(hash *int16) {
	c := g.Code
	if hash == nil {
		c.Emit(asm.Mov.Reg(asm.R6, asm.R1))
	}
	mark := c.Stack
	index := c.Alloc(8)
	c.Zero(index, 8)
	g.look(foundMap, index)
	c.Emit(asm.Mov.Imm(asm.R1, 0))
	if hash != nil {
		c.Load(asm.R1, *hash)
	}
	c.Emit(asm.StoreMem(asm.R0, 0, asm.R1, asm.DWord))
	c.Stack = mark
}

// thread finds the state of the running thread, by the address that pthread_self returns.
func (g *gen) thread(base, interp, thread, val int16) {
	c := g.Code
	g.config(asm.R3, cfgHead)
	g.word(interp)
	c.Load(asm.R0, interp)
	c.IfImm(asm.JEq, asm.R0, 0, g.out)
	g.via(interp, cfgFirst)
	g.follow(thread, interp, cfgThreads)
	found, next := c.Label(), c.Label()
	c.Emit(asm.Mov.Imm(asm.R9, 0))
	loop := c.Loop()
	c.IfImm(asm.JGE, asm.R9, maxThreads, g.out)
	c.Emit(asm.Add.Imm(asm.R9, 1))
	c.Load(asm.R0, thread)
	c.IfImm(asm.JEq, asm.R0, 0, next)
	g.via(val, cfgNative)
	g.follow(val, val, cfgThreadID)
	c.Load(asm.R1, val)
	c.Load(asm.R2, base)
	c.IfReg(asm.JEq, asm.R1, asm.R2, found)
	g.follow(thread, thread, cfgNextThread)
	c.Again(loop)
	c.Place(next)
	g.follow(interp, interp, cfgNextInterp)
	c.Load(asm.R1, interp)
	c.IfImm(asm.JEq, asm.R1, 0, g.out)
	g.follow(thread, interp, cfgThreads)
	c.Again(loop)
	c.Place(found)
}

// main finds the innermost frame where only the main thread has any.
func (g *gen) main(id, frame int16) {
	c := g.Code
	c.Load(asm.R1, id)
	c.Emit(asm.Mov.Reg(asm.R2, asm.R1), asm.RSh.Imm(asm.R1, 32),
		asm.LSh.Imm(asm.R2, 32), asm.RSh.Imm(asm.R2, 32))
	c.IfReg(asm.JNE, asm.R1, asm.R2, g.out)
	g.config(asm.R3, cfgHead)
	g.word(frame)
}

// innermost finds the innermost frame of a thread, and where its frames end if they lie side by side.
func (g *gen) innermost(thread, context, frame, end, size int16) {
	c := g.Code
	linked := c.Label()
	g.follow(context, thread, cfgFrame)
	c.Load(asm.R0, context)
	g.via(frame, cfgHolder)
	g.config(asm.R1, cfgStep)
	c.IfImm(asm.JEq, asm.R1, 0, linked)
	g.follow(end, context, cfgStack)
	c.Load(asm.R3, context)
	g.config(asm.R1, cfgStack)
	c.Emit(asm.Add.Reg(asm.R3, asm.R1), asm.Add.Imm(asm.R3, 8))
	g.word(size)
	c.Load(asm.R1, size)
	c.Load(asm.R2, end)
	c.Emit(asm.LSh.Imm(asm.R1, 3), asm.Add.Reg(asm.R1, asm.R2))
	g.config(asm.R2, cfgStep)
	c.Emit(asm.Sub.Reg(asm.R1, asm.R2)) // the outermost frame runs nothing
	c.Store(end, asm.R1)
	c.Place(linked)
}

// walk follows the frames outwards, up to end where they lie side by side.
func (g *gen) walk(id, frame, end, hash, val int16) {
	c := g.Code
	code, instr, previous := c.Alloc(8), c.Alloc(8), c.Alloc(8)
	c.Load(asm.R0, id)
	c.Emit(asm.RSh.Imm(asm.R0, 32), asm.StoreMem(asm.R7, stackPID, asm.R0, asm.DWord),
		assembler.StoreImm(asm.R7, stackCut, 0))
	c.Store(hash, asm.R0)
	c.Emit(asm.Mov.Imm(asm.R9, 0))
	done, cut := c.Label(), c.Label()
	loop := c.Loop()
	c.Load(asm.R3, frame)
	c.IfImm(asm.JEq, asm.R3, 0, done)
	c.IfImm(asm.JGE, asm.R9, maxFrames, cut)
	g.config(asm.R2, cfgSize)
	c.IfImm(asm.JGT, asm.R2, frameRoom, cut)
	c.Emit(asm.Mov.Reg(asm.R1, asm.R7), asm.Add.Imm(asm.R1, frameAt))
	c.Call(asm.FnProbeReadUser)
	c.IfImm(asm.JNE, asm.R0, 0, cut)
	linked, stepped := c.Label(), c.Label()
	g.config(asm.R1, cfgStep)
	c.IfImm(asm.JEq, asm.R1, 0, linked)
	c.Load(asm.R0, frame)
	c.Load(asm.R2, end)
	c.Emit(asm.Add.Reg(asm.R0, asm.R1))
	c.IfReg(asm.JLT, asm.R0, asm.R2, stepped)
	c.Emit(asm.Mov.Imm(asm.R0, 0))
	c.GoTo(stepped)
	c.Place(linked)
	g.field(asm.R0, cfgPrevious, asm.DWord)
	c.Place(stepped)
	c.Store(previous, asm.R0)
	g.field(asm.R0, cfgInstr, asm.DWord)
	c.Store(instr, asm.R0)
	g.field(asm.R0, cfgCode, asm.DWord)
	c.Emit(asm.And.Imm(asm.R0, -8)) // the lowest bits may be a tag
	c.Store(code, asm.R0)
	whole := c.Label()
	c.IfImm(asm.JEq, asm.R0, 0, whole)
	g.via(code, cfgBody)
	c.Place(whole)
	c.Emit(assembler.StoreImm(asm.R7, namesAt, 0), assembler.StoreImm(asm.R7, namesAt+8, 0),
		assembler.StoreImm(asm.R7, namesAt+16, 0))

	// Which frames were called from C.
	entry, inner, own := c.Label(), c.Label(), c.Label()
	bits, pointer := c.Label(), c.Label()
	g.config(asm.R1, cfgEntry)
	c.IfImm(asm.JEq, asm.R1, EachEntry, entry)
	c.IfImm(asm.JEq, asm.R1, BitsEntry, bits)
	c.IfImm(asm.JEq, asm.R1, PointerEntry, pointer)
	g.field(asm.R0, cfgOwner, asm.Byte)
	g.config(asm.R1, cfgEntry)
	c.IfImm(asm.JEq, asm.R1, FramesEntry, own)
	c.IfImm(asm.JEq, asm.R0, 0, inner)
	c.GoTo(entry)
	c.Place(pointer)
	g.field(asm.R3, cfgOwner, asm.DWord)
	g.word(val)
	c.Load(asm.R0, val)
	masked := c.Label()
	c.GoTo(masked)
	c.Place(bits)
	g.field(asm.R0, cfgOwner, asm.Word)
	c.Place(masked)
	g.config(asm.R1, cfgMask)
	c.Emit(asm.And.Reg(asm.R0, asm.R1))
	c.IfImm(asm.JEq, asm.R0, 0, inner)
	c.GoTo(entry)
	c.Place(own)
	c.IfImm(asm.JLT, asm.R0, 3, inner)
	c.Emit(asm.Mov.Imm(asm.R0, 0))
	c.Store(code, asm.R0)
	c.Store(instr, asm.R0)
	c.Place(entry)
	c.Load(asm.R0, instr)
	c.Constant(asm.R1, -1<<63)
	c.Emit(asm.Or.Reg(asm.R0, asm.R1))
	c.Store(instr, asm.R0)
	c.Place(inner)

	known := c.Label()
	c.Load(asm.R3, code)
	c.IfImm(asm.JEq, asm.R3, 0, known)
	g.config(asm.R1, cfgStrings)
	c.Emit(asm.Add.Reg(asm.R3, asm.R1), asm.Mov.Reg(asm.R1, asm.R7), asm.Add.Imm(asm.R1, namesAt),
		asm.Mov.Imm(asm.R2, 24))
	c.Call(asm.FnProbeReadUser)
	c.Place(known)
	c.Constant(asm.R4, hashFactor)
	c.Emit(asm.LoadMem(asm.R0, asm.R7, namesAt, asm.DWord), asm.Mul.Reg(asm.R0, asm.R4),
		asm.LoadMem(asm.R1, asm.R7, namesAt+8, asm.DWord), asm.Xor.Reg(asm.R0, asm.R1),
		asm.Mul.Reg(asm.R0, asm.R4),
		asm.LoadMem(asm.R1, asm.R7, namesAt+16, asm.DWord), asm.Xor.Reg(asm.R0, asm.R1))
	c.Store(val, asm.R0)

	c.Emit(asm.Mov.Reg(asm.R1, asm.R9), asm.Mul.Imm(asm.R1, frameSize), asm.Add.Reg(asm.R1, asm.R7))
	c.Load(asm.R2, hash)
	for i, at := range []int16{code, instr, val} {
		c.Load(asm.R0, at)
		c.Emit(asm.StoreMem(asm.R1, int16(stackAt+8*i), asm.R0, asm.DWord), asm.Xor.Reg(asm.R2, asm.R0),
			asm.Mul.Reg(asm.R2, asm.R4), asm.Mov.Reg(asm.R0, asm.R2), asm.RSh.Imm(asm.R0, 31),
			asm.Xor.Reg(asm.R2, asm.R0))
	}
	c.Store(hash, asm.R2)
	c.Emit(asm.Add.Imm(asm.R9, 1))
	c.Load(asm.R0, previous)
	c.Store(frame, asm.R0)
	c.Again(loop)
	c.Place(cut)
	c.Emit(assembler.StoreImm(asm.R7, stackCut, 1))
	c.Place(done)
	c.Emit(asm.StoreMem(asm.R7, stackCount, asm.R9, asm.DWord))
	c.IfImm(asm.JEq, asm.R9, 0, g.out)
}

// keep keeps the stack under its hash, and says that it is new if it is.
func (g *gen) keep(id, key, hash int16) {
	c := g.Code
	kept := c.Label()
	g.mapPtr(asm.R1, stacksMap)
	c.Addr(asm.R2, hash)
	c.Call(asm.FnMapLookupElem)
	c.IfImm(asm.JNE, asm.R0, 0, kept)
	g.mapPtr(asm.R1, stacksMap)
	c.Addr(asm.R2, hash)
	c.Emit(asm.Mov.Reg(asm.R3, asm.R7), asm.Mov.Imm(asm.R4, int32(ebpf.UpdateAny)))
	c.Call(asm.FnMapUpdateElem)
	c.Load(asm.R0, id)
	c.Emit(asm.RSh.Imm(asm.R0, 32))
	c.Store(key, asm.R0)
	g.mapPtr(asm.R1, freshMap)
	c.Addr(asm.R2, hash)
	c.Addr(asm.R3, key)
	c.Emit(asm.Mov.Imm(asm.R4, int32(ebpf.UpdateAny)))
	c.Call(asm.FnMapUpdateElem)
	c.Place(kept)
}

// leave tells of the sample.
func (g *gen) leave(id, key, hash, now int16) {
	c := g.Code
	c.Call(asm.FnKtimeGetNs)
	c.Store(now, asm.R0)
	c.Call(asm.FnGetSmpProcessorId)
	c.Emit(asm.Mul.Imm(asm.R0, perCPU), asm.LoadMem(asm.R1, asm.R7, seqAt, asm.DWord),
		asm.Mov.Reg(asm.R9, asm.R1), asm.And.Imm(asm.R1, perCPU-1), asm.Add.Reg(asm.R0, asm.R1),
		asm.Add.Imm(asm.R9, 1), asm.StoreMem(asm.R7, seqAt, asm.R9, asm.DWord))
	c.Store(key, asm.R0)
	g.look(ringMap, key)
	c.Load(asm.R1, now)
	c.Load(asm.R2, id)
	c.Load(asm.R3, hash)
	c.Emit(asm.StoreMem(asm.R0, 0, asm.R1, asm.DWord), asm.StoreMem(asm.R0, 8, asm.R2, asm.DWord),
		asm.StoreMem(asm.R0, 16, asm.R3, asm.DWord), asm.StoreMem(asm.R0, 24, asm.R9, asm.DWord))
}

// register finds where a task has the register that its thread's own memory is found by.
func register(host *features.Host) (int32, bool) {
	at, ok := host.Member("task_struct", "thread")
	in, ok2 := host.Member("thread_struct", "fsbase")
	return int32(at + in), ok && ok2
}
