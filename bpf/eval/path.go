package eval

import (
	_ "embed"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file writes the path of a file. The kernel has no text of it: a directory entry (dentry) has its name
// and its parent, up to the root of the file system, and the mount has the entry that this root lies on.
// path.c follows them.
//
// The kernel has a helper for this, bpf_d_path. But only programs at about a dozen functions of the kernel
// may call it, and it needs a struct path.

//go:embed path.o
var pathObject []byte

// pathRoutines holds the compiled routine of path.c; a test compiles it again and compares.
var pathRoutines = assembler.NewObject(pathObject)

// Constants of path.c: a path has fewer than pathRoom bytes and at most pathDepth names and mounts. A file
// without a path, such as a pipe, is written as file system:name; there the file system has fewer than
// pathKind bytes and the name fewer than pathRest.
const (
	pathRoom    = event.UserTextLimit + 1
	pathDepth   = 32
	pathKind    = 32
	pathRest    = 128
	pathOffsets = 3 * 8
	pathWork    = pathOffsets + len(expr.PathOffsets{})*8 + 2*pathRoom
)

// pathText writes the path of n's directory entry to off, which has room for size bytes.
func (e *Eval) pathText(off int16, size int, n *expr.KernelPath) {
	c := e.Code
	mark := c.Stack
	var places []int16
	for _, x := range []expr.Node{n.Dentry, n.Mount, n.Super} {
		place := c.AllocStack(8)
		e.Num(x)
		c.Store(place, asm.R0)
		places = append(places, place)
	}
	if n.Alias > 0 { // Dentry is 0, or the address of the entry's member at offset Alias
		none := c.Label()
		c.Load(asm.R0, places[0])
		c.IfImm(asm.JEq, asm.R0, 0, none)
		c.Emit(asm.Sub.Imm(asm.R0, int32(n.Alias)))
		c.Store(places[0], asm.R0)
		c.Place(none)
	}
	c.Zero(off, size)
	c.ScratchAddr(c.AllocScratch(pathWork), e.Fail)
	for i, place := range places {
		c.Load(asm.R1, place)
		c.Emit(asm.StoreMem(asm.R0, int16(8*i), asm.R1, asm.DWord))
	}
	for i, offset := range n.Offsets {
		c.Emit(assembler.StoreImm(asm.R0, int16(pathOffsets+8*i), int32(offset)))
	}
	c.Emit(asm.Mov.Reg(asm.R2, asm.R0))
	c.Addr(asm.R1, off)
	c.Routine(pathRoutines, "path_text")
	c.IfImm(asm.JNE, asm.R0, 0, e.Fail)
	c.Stack = mark
}
