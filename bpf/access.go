package bpf

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/load"
)

// This file generates accesses to maps. Keys and values are places of the stack.

// look jumps to found, with the address of the value in R0, if a map has a key.
func (c *code) look(m load.MapID, key int16, found label) {
	c.mapPtr(asm.R1, m)
	c.addr(asm.R2, key)
	c.call(asm.FnMapLookupElem)
	c.ifImm(asm.JNE, asm.R0, 0, found)
}

// get leaves the address of the value in R0; it jumps to missing if the map has
// no such key.
func (c *code) get(m load.MapID, key int16, missing label) {
	c.mapPtr(asm.R1, m)
	c.addr(asm.R2, key)
	c.call(asm.FnMapLookupElem)
	c.ifImm(asm.JEq, asm.R0, 0, missing)
}

// fresh gives a key that was not there the only value of an array, and looks
// again. That another CPU makes it at the same time is no error.
func (c *code) fresh(m, array load.MapID, key int16, found label) {
	c.mapPtr(asm.R1, m)
	c.addr(asm.R2, key)
	c.mapValue(asm.R3, array, 0)
	c.emit(asm.Mov.Imm(asm.R4, int32(ebpf.UpdateNoExist)))
	c.call(asm.FnMapUpdateElem)
	c.look(m, key, found)
}

// put writes to a map. R0 is 0, or an error.
func (c *code) put(m load.MapID, key, value int16, flags ebpf.MapUpdateFlags) {
	c.mapPtr(asm.R1, m)
	c.addr(asm.R2, key)
	c.addr(asm.R3, value)
	c.emit(asm.Mov.Imm(asm.R4, int32(flags)))
	c.call(asm.FnMapUpdateElem)
}

// widen makes a number of 64 bits of the result of a map's function. Up to 6.3
// it has 32: the kernel calls the function itself, which returned an int.
func (c *code) widen() {
	c.emit(asm.LSh.Imm(asm.R0, 32), asm.ArSh.Imm(asm.R0, 32))
}

// taskValue leaves in R0 the address of a map's value for the running task; 0
// is none. create makes one.
func (c *code) taskValue(m load.MapID, create bool) {
	c.call(asm.FnGetCurrentTaskBtf)
	c.emit(asm.Mov.Reg(asm.R2, asm.R0), asm.Mov.Imm(asm.R3, 0), asm.Mov.Imm(asm.R4, int32(b2i(create))))
	c.mapPtr(asm.R1, m)
	c.call(asm.FnTaskStorageGet)
}
