package walk

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
)

// A program makes the kernel write the stack into scratch memory, and hashes it
// to 128 bits; the hash is the key of the row. Only when it makes a new row
// does it store the stack itself, under its hash. So a stack that was seen
// before costs the walk, the hash and one look-up.
//
// The kernel's own maps of stacks (BPF_MAP_TYPE_STACK_TRACE) cost as much and
// are not exact: of stacks in the same bucket one is evicted or lost, which
// happens to dozens of some thousand stacks. Two different stacks have the same
// 128-bit hash once in 10^26 pairs.
//
// User addresses have a meaning only within one program of one process, so the
// stack includes the process and the number of programs that it has executed.

const (
	maxFresh      = 4096
	userStackFlag = 1 << 8 // BPF_F_USER_STACK
)

// MostStacks bounds the stacks of a run: 64 MiB, as the native table.
const MostStacks = 1 << 15

// A Stacks finds the call stack of the running task in a program.
type Stacks struct {
	*assembler.Code
	Hook         *hook.Hook
	Members      *hook.Members
	Kernel, User int  // room for so many addresses
	Tables       bool // some stacks are walked by unwind tables
	Interpreted  bool // some stacks may be of interpreters, see Interpreted
}

// Leave walks the running task's stack and leaves its hash at the place key; 0
// if there is no stack. R7 is the memory of the stack from then on.
func (w *Stacks) Leave(key int16, spec *hook.StackSpec, fail assembler.Label) {
	c := w.Code
	mark := c.Stack
	index := c.Alloc(8)
	c.Zero(index, 8)
	c.Get(load.ChainMap.Of(w.Hook.Index), index, fail)
	c.Emit(asm.Mov.Reg(asm.R7, asm.R0), assembler.StoreImm(asm.R7, load.ChainTask, 0),
		assembler.StoreImm(asm.R7, load.ChainKernel, 0), assembler.StoreImm(asm.R7, load.ChainUser, 0),
		assembler.StoreImm(asm.R7, load.ChainMax, int32(spec.Max)),
		assembler.StoreImm(asm.R7, load.ChainInterpreted, 0))
	if Interpreted(w.Hook.Event) {
		c.Get(load.InterpretedMap.Of(), index, fail)
		c.Emit(asm.LoadMem(asm.R0, asm.R0, 0, asm.DWord),
			asm.StoreMem(asm.R7, load.ChainInterpreted, asm.R0, asm.DWord))
	}
	c.Emit(asm.Mov.Imm(asm.R8, 0))
	if spec.Kernel {
		w.part(load.ChainKernel, load.ChainWords, spec.Max, 0)
	}
	if spec.User {
		none, found := c.Label(), c.Label()
		if spec.Tables {
			w.task()
			pointers := c.Label()
			w.user(spec.Max, pointers)
			c.GoTo(found)
			c.Place(pointers)
		}
		w.part(load.ChainUser, load.ChainWords+8*w.Kernel, spec.Max, userStackFlag)
		c.Place(found)
		if !spec.Tables {
			c.IfImm(asm.JEq, asm.R8, 0, none)
			w.task()
		} else {
			c.IfImm(asm.JNE, asm.R8, 0, none)
			c.Emit(assembler.StoreImm(asm.R7, load.ChainTask, 0))
		}
		c.Place(none)
	}
	w.hash(key)
	c.Stack = mark
}

// Interpreted reports that package interpreted can put its program in front of the event's program,
// to find the functions that an interpreter runs. It can do so for samples.
func Interpreted(e *hook.Event) bool { return e.Sampled && e.Stack.User }

// FoundMaps defines the maps of unwind tables, if stacks are walked by tables, and the map with the
// hash of the interpreter's stack.
func (w *Stacks) FoundMaps(define func(load.MapID, *ebpf.MapSpec)) {
	if w.Tables {
		frameMaps(define)
	}
	if w.Interpreted {
		define(load.InterpretedMap.Of(), &ebpf.MapSpec{Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: 8,
			MaxEntries: 1})
	}
}

// part makes the kernel write addresses to R7+at, and their size to R7+size and
// R8. At the begin R8 is the size of the addresses before them; together there
// are at most most addresses.
func (w *Stacks) part(size, at, most int, flags int32) {
	c := w.Code
	end := c.Label()
	c.Emit(asm.Mov.Imm(asm.R3, int32(8*most)), asm.Sub.Reg(asm.R3, asm.R8), asm.Mov.Imm(asm.R8, 0))
	c.IfImm(asm.JEq, asm.R3, 0, end)
	w.Hook.Context(asm.R1)
	c.Emit(asm.Mov.Reg(asm.R2, asm.R7), asm.Add.Imm(asm.R2, int32(at)),
		asm.Mov.Imm(asm.R4, flags))
	c.Call(asm.FnGetStack)
	// An error means that there is no such stack, as for the user part of
	// kernel threads.
	c.IfImm(asm.JSLE, asm.R0, 0, end)
	c.IfImm(asm.JGT, asm.R0, int32(8*most), end)
	c.Emit(asm.Mov.Reg(asm.R8, asm.R0), asm.StoreMem(asm.R7, int16(size), asm.R8, asm.DWord))
	c.Place(end)
}

// task stores the process, and the number of programs that it has executed.
func (w *Stacks) task() {
	c := w.Code
	at, ok := w.Hook.Host.Member("task_struct", "self_exec_id")
	if !ok {
		assembler.Refuse("user stacks need the kernel's type information (CONFIG_DEBUG_INFO_BTF)")
	}
	if w.Hook.Host.TaskStorage {
		// The verifier lets a program read members of such a task directly.
		c.Call(asm.FnGetCurrentTaskBtf)
		c.Emit(asm.LoadMem(asm.R1, asm.R0, int16(at), asm.Word),
			asm.StoreMem(asm.R7, load.ChainTask+4, asm.R1, asm.Word))
	} else {
		c.Call(asm.FnGetCurrentTask)
		c.Emit(asm.Mov.Reg(asm.R3, asm.R0), asm.Add.Imm(asm.R3, int32(at)),
			asm.Mov.Reg(asm.R1, asm.R7), asm.Add.Imm(asm.R1, load.ChainTask+4), asm.Mov.Imm(asm.R2, 4))
		c.Call(asm.FnProbeReadKernel)
	}
	c.Emit(asm.LoadMem(asm.R1, asm.R10, w.Members.PidTgid()+4, asm.Word),
		asm.StoreMem(asm.R7, load.ChainTask, asm.R1, asm.Word))
}

// hash leaves a hash of the stack at R7 at the place key: two 64-bit numbers, 0 if there
// is no stack.
func (w *Stacks) hash(key int16) {
	c := w.Code
	c.Emit(asm.Mov.Reg(asm.R1, asm.R7), asm.Mov.Imm(asm.R2, int32(w.Kernel)),
		asm.Mov.Imm(asm.R3, int32(w.User)))
	c.Addr(asm.R4, key)
	c.Routine(routines, "walk_hash")
}

// Keep stores the stack at R7 under its hash in the map of generation n, if it
// is not there yet.
func (w *Stacks) Keep(key int16, n int, full assembler.Label) {
	c := w.Code
	mark := c.Stack
	kept := c.Label()
	c.Load(asm.R1, key)
	c.IfImm(asm.JEq, asm.R1, 0, kept) // no stack
	c.Call(asm.FnKtimeGetNs)
	c.Emit(asm.StoreMem(asm.R7, load.ChainTime, asm.R0, asm.DWord))
	c.MapPtr(asm.R1, load.StacksMap.Of(n))
	c.Addr(asm.R2, key)
	c.Emit(asm.Mov.Reg(asm.R3, asm.R7), asm.Mov.Imm(asm.R4, int32(ebpf.UpdateNoExist)))
	c.Call(asm.FnMapUpdateElem)
	c.Widen()
	c.IfImm(asm.JEq, asm.R0, -17, kept) // EEXIST
	c.IfImm(asm.JNE, asm.R0, 0, full)
	w.fresh()
	c.Place(kept)
	c.Stack = mark
}

// EmitNumber leaves in R0 the number of the stack at R7, whose hash is at key; 0 if there is no
// stack. The first program that finds a stack numbers it and stores it under the number. It
// jumps to full if there is no room.
func (w *Stacks) EmitNumber(key int16, full assembler.Label) {
	c := w.Code
	mark := c.Stack
	none, known, mine, end := c.Label(), c.Label(), c.Label(), c.Label()
	number := c.Alloc(8)
	c.Load(asm.R1, key)
	c.IfImm(asm.JEq, asm.R1, 0, none)
	c.Look(load.HeldNumbersMap.Of(), key, known)
	c.MapValue(asm.R1, load.HeldCountMap.Of(), 0)
	c.Emit(asm.Mov.Imm(asm.R2, 1), assembler.Exchange(asm.FetchAdd, asm.R1, asm.R2, 0),
		asm.Add.Imm(asm.R2, 1))
	c.Store(number, asm.R2)
	c.Call(asm.FnKtimeGetNs)
	c.Emit(asm.StoreMem(asm.R7, load.ChainTime, asm.R0, asm.DWord))
	// The stack is stored first, so that a reader that sees the number finds
	// it.
	c.MapPtr(asm.R1, load.HeldMap.Of())
	c.Addr(asm.R2, number)
	c.Emit(asm.Mov.Reg(asm.R3, asm.R7), asm.Mov.Imm(asm.R4, int32(ebpf.UpdateAny)))
	c.Call(asm.FnMapUpdateElem)
	c.IfImm(asm.JNE, asm.R0, 0, full)
	c.Put(load.HeldNumbersMap.Of(), key, number, ebpf.UpdateNoExist)
	c.IfImm(asm.JEq, asm.R0, 0, mine)
	// Another CPU was faster, or there is no room.
	c.MapPtr(asm.R1, load.HeldMap.Of())
	c.Addr(asm.R2, number)
	c.Call(asm.FnMapDeleteElem)
	c.Get(load.HeldNumbersMap.Of(), key, full)
	c.GoTo(known)
	c.Place(mine)
	w.fresh()
	c.Load(asm.R0, number)
	c.GoTo(end)
	c.Place(known)
	c.Emit(asm.LoadMem(asm.R0, asm.R0, 0, asm.DWord))
	c.GoTo(end)
	c.Place(none)
	c.Emit(asm.Mov.Imm(asm.R0, 0))
	c.Place(end)
	c.Stack = mark
}

// fresh records the process of the stack at R7 in the map of processes.
func (w *Stacks) fresh() {
	if w.User == 0 {
		return
	}
	c := w.Code
	mark, none := c.Stack, c.Label()
	pid := c.Alloc(8)
	c.Emit(asm.LoadMem(asm.R1, asm.R7, load.ChainTask, asm.DWord))
	c.IfImm(asm.JEq, asm.R1, 0, none)
	c.Store(pid, asm.R1)
	c.Put(load.FreshMap.Of(), pid, pid, ebpf.UpdateAny)
	c.Place(none)
	c.Stack = mark
}

// size is the size of a stored stack in bytes.
func (w *Stacks) size() uint32 { return uint32(load.ChainWords + 8*(w.Kernel+w.User)) }

// Memory describes the map with the memory in which a program walks a stack.
func (w *Stacks) Memory() *ebpf.MapSpec {
	room := w.size()
	if w.Tables {
		room += stateSize
	}
	return &ebpf.MapSpec{Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: room, MaxEntries: 1}
}

// MapSpec describes a map of stacks, without its bound.
func (w *Stacks) MapSpec() *ebpf.MapSpec {
	return &ebpf.MapSpec{Type: ebpf.Hash, KeySize: load.StackKey, ValueSize: w.size()}
}

// HeldMaps defines the maps of stacks that are held by number, without their bounds.
func (w *Stacks) HeldMaps() (stacks, numbers, count *ebpf.MapSpec) {
	stacks = &ebpf.MapSpec{Type: ebpf.Hash, KeySize: 4, ValueSize: w.size()}
	numbers = &ebpf.MapSpec{Type: ebpf.Hash, KeySize: load.StackKey, ValueSize: 8}
	count = &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1}
	return stacks, numbers, count
}

// FreshMap describes the map of the processes whose stacks were stored.
func FreshMap() *ebpf.MapSpec {
	return &ebpf.MapSpec{Type: ebpf.Hash, KeySize: 4, ValueSize: 8, MaxEntries: maxFresh}
}
