package assembler

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/load"
)

// This file generates accesses to maps. Keys and values are places of the stack.

// Look looks a key up in a map. If it is there, it jumps to found, with the
// address of the value in R0.
func (c *Code) Look(m load.MapID, key int16, found Label) {
	c.MapPtr(asm.R1, m)
	c.Addr(asm.R2, key)
	c.Call(asm.FnMapLookupElem)
	c.IfImm(asm.JNE, asm.R0, 0, found)
}

// Get leaves the address of the value in R0; it jumps to missing if the map has
// no such key.
func (c *Code) Get(m load.MapID, key int16, missing Label) {
	c.MapPtr(asm.R1, m)
	c.Addr(asm.R2, key)
	c.Call(asm.FnMapLookupElem)
	c.IfImm(asm.JEq, asm.R0, 0, missing)
}

// Fresh adds a missing key to a map, with the only value of an array as its
// value, and looks it up again. If another CPU adds the key at the same time,
// that is no error.
func (c *Code) Fresh(m, array load.MapID, key int16, found Label) {
	c.MapPtr(asm.R1, m)
	c.Addr(asm.R2, key)
	c.MapValue(asm.R3, array, 0)
	c.Emit(asm.Mov.Imm(asm.R4, int32(ebpf.UpdateNoExist)))
	c.Call(asm.FnMapUpdateElem)
	c.Look(m, key, found)
}

// Put stores a value under a key of a map. R0 is 0, or a negative error number.
func (c *Code) Put(m load.MapID, key, value int16, flags ebpf.MapUpdateFlags) {
	c.MapPtr(asm.R1, m)
	c.Addr(asm.R2, key)
	c.Addr(asm.R3, value)
	c.Emit(asm.Mov.Imm(asm.R4, int32(flags)))
	c.Call(asm.FnMapUpdateElem)
}

// Widen extends the result of a map helper in R0 to 64 bits. Up to Linux 6.3
// only 32 bits are valid: the kernel calls the map's function directly, which
// returned an int there.
func (c *Code) Widen() {
	c.Emit(asm.LSh.Imm(asm.R0, 32), asm.ArSh.Imm(asm.R0, 32))
}

// TaskValue leaves in R0 the address of a map's value for the running task; 0
// if there is none. create makes one.
func (c *Code) TaskValue(m load.MapID, create bool) {
	var flags int32
	if create {
		flags = 1 // BPF_LOCAL_STORAGE_GET_F_CREATE
	}
	c.Call(asm.FnGetCurrentTaskBtf)
	c.Emit(asm.Mov.Reg(asm.R2, asm.R0), asm.Mov.Imm(asm.R3, 0), asm.Mov.Imm(asm.R4, flags))
	c.MapPtr(asm.R1, m)
	c.Call(asm.FnTaskStorageGet)
}

// Count adds 1 to a statistic of a program: a word of the only value of a per-CPU map. It
// overwrites R0 to R5.
func (c *Code) Count(stats load.MapID, stat int) {
	if c.dead {
		return
	}
	mark := c.Stack
	skip := c.Label()
	k := c.Alloc(8)
	c.Zero(k, 8)
	c.Get(stats, k, skip)
	c.Emit(asm.LoadMem(asm.R1, asm.R0, int16(8*stat), asm.DWord), asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R0, int16(8*stat), asm.R1, asm.DWord))
	c.Place(skip)
	c.Stack = mark
}

// Next leaves in R1 the number at the address R0, and adds 1 to it in memory; alone says that
// no other CPU does so at the same time. It overwrites R2.
func Next(c *Code, alone bool) {
	if !alone {
		c.Emit(asm.Mov.Imm(asm.R1, 1), Exchange(asm.FetchAdd, asm.R0, asm.R1, 0))
		return
	}
	c.Emit(asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord), asm.Mov.Reg(asm.R2, asm.R1), asm.Add.Imm(asm.R2, 1),
		asm.StoreMem(asm.R0, 0, asm.R2, asm.DWord))
}

// Element leaves in R1 the address of a memory block plus the offset of an element in a
// list of size words. The address of the block is at the place memory, and R0 is the index
// of the element, from the end if it is negative. The access itself adds the offset of the
// list in the block. Element jumps to fail if there is no such element.
func Element(c *Code, memory int16, size int, fail Label) {
	forward := c.Label()
	c.IfImm(asm.JSGE, asm.R0, 0, forward)
	c.Emit(asm.Add.Imm(asm.R0, int32(size)))
	c.Place(forward)
	c.IfImm(asm.JGE, asm.R0, int32(size), fail)
	c.Emit(asm.LSh.Imm(asm.R0, 3))
	c.Load(asm.R1, memory)
	c.Emit(asm.Add.Reg(asm.R1, asm.R0))
}
