package state

import (
	"runtime"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/system/kernel"
)

// This file generates code that keeps texts of a process in its thread's storage,
// from the begin of a system call to its end.
//
// A text is read when the call begins. If its page is not in memory then, its address is
// kept, and it is read again at the end of the call: the kernel has fetched the page by then.
// After a call that executed another program (execve) the memory of the text is gone. Package
// outbox describes further limits, which apply here as well.

// The memory of a thread: a word of bits, then the address and the bytes of each text.
const (
	// waits says that an event waits for the end of the call. executes says that the call
	// executes another program, unless it fails. missing, shifted by the index of a text,
	// says that the text was not in memory.
	waits    = 1
	executes = 2
	missing  = 4

	head   = 8
	stride = 8 + assembler.UserRoom
)

// CallTextsSize is the size of the memory for so many texts, in bytes.
func CallTextsSize(texts int) int { return head + stride*texts }

// CallTextsMap is a map with size bytes for each task.
func CallTextsMap(size int) *ebpf.MapSpec { return TaskMap(size) }

// A CallEnd is the tracepoint at the end of the calls that an event begins.
type CallEnd struct {
	Schema *event.Schema
	ID     uint64
}

// CallEndOf finds the CallEnd of an event that begins calls. find returns the
// number of a tracepoint; nil if numbers are not available.
func CallEndOf(begin *event.Schema, find func(system, name string) (id uint64, ok bool)) (e CallEnd,
	ok bool) {
	name := "sys_exit"
	if call, one := strings.CutPrefix(begin.Name, "sys_enter_"); one {
		name += "_" + call
	}
	if find == nil {
		return e, false
	}
	e.ID, ok = find(begin.System, name)
	// All have the result at the same offset: include/trace/events/syscalls.h.
	ret := event.Field{Name: "ret", Kind: event.Int, Place: event.InRaw, Signed: true, Offset: 16, Size: 8}
	e.Schema = &event.Schema{System: begin.System, Name: name, Size: 24, Fields: []event.Field{ret}}
	return e, ok
}

// UserTextsOf lists the texts of processes that are read in nodes.
func UserTextsOf(nodes ...expr.Node) (texts []*expr.Native) {
	for _, n := range nodes {
		if n == nil {
			continue
		}
		expr.Walk(n, func(n expr.Node) bool {
			if t, ok := n.(*expr.Native); ok && t.Is(expr.ReadsProcess) {
				texts = append(texts, t)
			}
			return true
		})
	}
	return texts
}

// A CallTextKeeper keeps texts with the running thread.
type CallTextKeeper struct {
	*assembler.Code
	Map load.MapID
}

// A CallBegin describes the begin of a call.
type CallBegin struct {
	Addrs []int16 // places of the addresses of its texts
	// Executes says that the call executes another program. ID is the place of the call's
	// number, if the event begins all kinds of calls; else 0.
	Executes bool
	ID       int16
	// Waits says that an event waits for the end of the call.
	Waits bool
}

// Keep reads and keeps the texts of a call. It leaves the memory of the thread in R8, or
// jumps to full if the thread cannot get any.
func (k CallTextKeeper) Keep(b CallBegin, full assembler.Label) {
	c := k.Code
	c.TaskValue(k.Map, true)
	c.IfImm(asm.JEq, asm.R0, 0, full)
	bits := int32(event.Bit(b.Waits)*waits | event.Bit(b.Executes)*executes)
	c.Emit(asm.Mov.Reg(asm.R8, asm.R0), assembler.StoreImm(asm.R8, 0, bits))
	if b.ID != 0 {
		other, known := c.Label(), c.Label()
		c.Load(asm.R0, b.ID)
		for _, name := range []string{"execve", "execveat"} {
			if n, ok := kernel.SyscallNumber(runtime.GOARCH, name); ok {
				c.IfImm(asm.JEq, asm.R0, int32(n), known)
			}
		}
		c.GoTo(other)
		c.Place(known)
		c.Emit(assembler.StoreImm(asm.R8, 0, bits|executes))
		c.Place(other)
	}
	for i, at := range b.Addrs {
		c.Load(asm.R3, at)
		k.read(i, true)
	}
}

// read reads text i, at the address in R3. noted says to keep the address, and to record
// whether the text is missing.
func (k CallTextKeeper) read(i int, noted bool) {
	c := k.Code
	addr := addressAt(i)
	text, none := addr+8, c.Label()
	if noted {
		c.Emit(asm.StoreMem(asm.R8, addr, asm.R3, asm.DWord))
	}
	c.Emit(assembler.StoreImm(asm.R8, text, 0))
	c.IfImm(asm.JEq, asm.R3, 0, none)
	c.Emit(asm.Mov.Reg(asm.R1, asm.R8), asm.Add.Imm(asm.R1, int32(text)))
	c.ReadUser(asm.R8, text)
	if noted {
		c.Emit(asm.LoadMem(asm.R1, asm.R8, text, asm.DWord))
		MissingText(c, asm.R0, asm.R1, none)
		c.Emit(asm.LoadMem(asm.R1, asm.R8, 0, asm.DWord), asm.Or.Imm(asm.R1, missing<<i),
			asm.StoreMem(asm.R8, 0, asm.R1, asm.DWord))
	}
	c.Place(none)
}

// addressAt is the offset of the address of text i in the memory.
func addressAt(i int) int16 { return int16(head + stride*i) }

// MissingText goes on if a text that was read is missing, and jumps to there if not. size is the
// register with the number of bytes that were read, word the register with the first 8. It
// overwrites R2.
func MissingText(c *assembler.Code, size, word asm.Register, there assembler.Label) {
	c.IfImm(asm.JNE, size, int32(len(event.UserTextFault)+1), there)
	c.Constant(asm.R2, int64(assembler.Word(event.UserTextFault)))
	c.IfReg(asm.JNE, word, asm.R2, there)
}

// Waiting goes on if an event of the thread waits for the end of the call, and ends the wait.
// It leaves the thread's memory in R8. If no event waits, it jumps to none.
func (k CallTextKeeper) Waiting(none assembler.Label) {
	c := k.Code
	c.TaskValue(k.Map, false)
	c.IfImm(asm.JEq, asm.R0, 0, none)
	c.Emit(asm.Mov.Reg(asm.R8, asm.R0), asm.LoadMem(asm.R1, asm.R8, 0, asm.DWord),
		asm.Mov.Reg(asm.R2, asm.R1), asm.And.Imm(asm.R2, waits))
	c.IfImm(asm.JEq, asm.R2, 0, none)
	c.Emit(asm.Xor.Imm(asm.R1, waits), asm.StoreMem(asm.R8, 0, asm.R1, asm.DWord))
}

// Again reads the texts again that were missing when the call began, and leaves the memory of
// the thread in R8; it jumps to none if the thread has no memory. ret is the place of the
// system call's result; 0 for other functions.
func (k CallTextKeeper) Again(texts int, ret int16, none assembler.Label) {
	c := k.Code
	reads, end := c.Label(), c.Label()
	c.TaskValue(k.Map, false)
	c.IfImm(asm.JEq, asm.R0, 0, none)
	c.Emit(asm.Mov.Reg(asm.R8, asm.R0))
	if ret != 0 {
		c.Emit(asm.LoadMem(asm.R1, asm.R8, 0, asm.DWord), asm.And.Imm(asm.R1, executes))
		c.IfImm(asm.JEq, asm.R1, 0, reads)
		c.Load(asm.R1, ret)
		c.IfImm(asm.JEq, asm.R1, 0, end) // it succeeded: the process has new memory
	}
	c.Place(reads)
	for i := range texts {
		there := c.Label()
		c.Emit(asm.LoadMem(asm.R1, asm.R8, 0, asm.DWord), asm.And.Imm(asm.R1, missing<<i))
		c.IfImm(asm.JEq, asm.R1, 0, there)
		c.Emit(asm.LoadMem(asm.R3, asm.R8, addressAt(i), asm.DWord))
		k.read(i, false)
		c.Place(there)
	}
	c.Place(end)
}

// Copy copies text i to a place of size bytes. R0 is then its length, with its NUL.
func (k CallTextKeeper) Copy(i int, to int16, size int, fail assembler.Label) {
	c := k.Code
	c.Zero(to, size)
	c.TaskValue(k.Map, false)
	c.IfImm(asm.JEq, asm.R0, 0, fail)
	c.Emit(asm.Mov.Reg(asm.R3, asm.R0), asm.Add.Imm(asm.R3, int32(addressAt(i))+8),
		asm.Mov.Imm(asm.R2, assembler.UserRoom))
	c.Addr(asm.R1, to)
	c.Call(asm.FnProbeReadKernelStr)
}

// Memory leaves the address of the thread's memory in R9; it jumps to fail if
// there is none.
func (k CallTextKeeper) Memory(fail assembler.Label) {
	k.TaskValue(k.Map, false)
	k.IfImm(asm.JEq, asm.R0, 0, fail)
	k.Emit(asm.Mov.Reg(asm.R9, asm.R0))
}

// Address leaves the address of text i in the process in R0. R9 is the thread's
// memory.
func (k CallTextKeeper) Address(i int) {
	k.Emit(asm.LoadMem(asm.R0, asm.R9, addressAt(i), asm.DWord))
}

// Send copies text i to the address in R1. R0 is then its length, with its NUL. R9 is
// the thread's memory.
func (k CallTextKeeper) Send(i int) {
	c, some := k.Code, k.Label()
	c.Emit(asm.Mov.Reg(asm.R3, asm.R9), asm.Add.Imm(asm.R3, int32(addressAt(i))+8),
		asm.Mov.Imm(asm.R2, assembler.UserRoom))
	c.Call(asm.FnProbeReadKernelStr)
	c.IfImm(asm.JNE, asm.R0, 0, some)
	c.Emit(asm.Mov.Imm(asm.R0, 1)) // older kernels do not count the NUL of an empty text
	c.Place(some)
}
