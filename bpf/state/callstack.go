package state

import (
	_ "embed"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/runtime/operator/join"
)

// This file generates code for joins of nested calls: programs keep a stack of
// calls for each key, and the tree of all paths of calls that they saw.
//
// One map has the depth of each key's stack, another the waiting calls by key and depth.
// The fields of a waiting call begin with its node in the tree and the time that the calls
// inside it took. A third map has the number of the child node for each node and function.
// An array has the nodes by number; package load reads it.
//
// A stack has no lock if only one CPU at a time has events of a key. A program that interrupts
// another one enters its calls and returns from them before the other continues. So a program that
// enters a call first makes room for it, and checks whether the stack was deleted meanwhile. Stacks
// of all other keys have locks (calllock.go).
//
// A routine in C (callstack.c) adds nodes to the tree, once for each path. What programs do for each
// call is assembled. With routines in C for Find, Grow, Top, Search and Returned too, verifiers took
// the programs (they followed 419 instructions of an entry for 275, and 10,768 of a return for
// 10,718), but they were slower: with bpf_stats_enabled, an entry of getppid took 490 ns for 440, with
// three calls of routines, and a return 410 for 370, with two. A return from a routine takes 15 to 20
// ns on a kernel with the mitigation Safe RET, since the processor does not predict it.

//go:embed callstack.o
var callstackObject []byte

// routines holds the compiled routine of callstack.c; a test compiles it again
// and compares.
var routines = assembler.NewObject(callstackObject)

// CallStacks are the stacks of calls of a join, one for each key.
type CallStacks struct {
	*assembler.Code
	Join    int  // index of the join
	Tasks   bool // the depth is with the task, not in a hash
	Shared  bool // several CPUs may have events of a key at a time
	KeyRoom int  // bytes of a key; with the depth behind it, it is the key of a call
}

// A CallStack is the stack of one key in a program.
type CallStack struct {
	Depth int16 // place of the depth, behind the key, with which it is the key of a call
	Top   int16 // place of the address of the stack's depth
}

// Find finds the stack of a key; it jumps to none if there is none, or if none can be
// made.
func (c *CallStacks) Find(key int16, create bool, none assembler.Label) CallStack {
	s := CallStack{Depth: key + int16(c.KeyRoom), Top: c.Alloc(8)}
	depths := load.DepthMap.Of(c.Join)
	if c.Tasks {
		c.TaskValue(depths, create)
		c.IfImm(asm.JEq, asm.R0, 0, none)
	} else {
		found := c.Label()
		c.Look(depths, key, found)
		if !create {
			c.GoTo(none)
		} else {
			c.Set(s.Depth, 0)
			// Twice: a program that interrupts this one may delete the stack.
			for range 2 {
				c.Put(depths, key, s.Depth, ebpf.UpdateNoExist)
				c.Look(depths, key, found)
			}
			c.GoTo(none)
		}
		c.Place(found)
	}
	c.Store(s.Top, asm.R0)
	c.Emit(asm.LoadMem(asm.R0, asm.R0, 0, asm.DWord))
	c.Store(s.Depth, asm.R0)
	return s
}

// Grow makes room for a call at the top of a stack. The place of the depth keeps the depth
// below the call. A program that interrupts this one from now on sees the room as taken. A
// program that interrupted it before may have deleted the stack: Grow creates it again.
func (c *CallStacks) Grow(s CallStack, key int16) {
	mark := c.Code.Stack
	depth := c.Alloc(8)
	c.Load(asm.R1, s.Top)
	c.Load(asm.R0, s.Depth)
	c.Emit(asm.Add.Imm(asm.R0, 1), asm.StoreMem(asm.R1, 0, asm.R0, asm.DWord))
	c.Store(depth, asm.R0)
	if !c.Tasks {
		depths, gone, there := load.DepthMap.Of(c.Join), c.Label(), c.Label()
		c.Get(depths, key, gone)
		c.Load(asm.R1, s.Top)
		c.IfReg(asm.JEq, asm.R0, asm.R1, there)
		c.Place(gone)
		c.Put(depths, key, depth, ebpf.UpdateAny)
		c.Place(there)
	}
	c.Code.Stack = mark
}

// Shrink removes the room of a call.
func (c *CallStacks) Shrink(s CallStack, key int16) {
	if !c.Tasks {
		c.Put(load.DepthMap.Of(c.Join), key, s.Depth, ebpf.UpdateAny)
		return
	}
	c.Load(asm.R1, s.Top)
	c.Load(asm.R0, s.Depth)
	c.Emit(asm.StoreMem(asm.R1, 0, asm.R0, asm.DWord))
}

// Top leaves in node the tree node of the call at the top of a stack; 0 if the stack is
// empty.
func (c *CallStacks) Top(s CallStack, key, node int16) {
	mark := c.Code.Stack
	root, none := c.Label(), c.Label()
	depth := c.Alloc(8)
	c.Emit(assembler.StoreImm(asm.R10, node, 0))
	c.Load(asm.R0, s.Depth)
	c.Store(depth, asm.R0)
	c.IfImm(asm.JEq, asm.R0, 0, root)
	c.Emit(asm.Sub.Imm(asm.R0, 1))
	c.Store(s.Depth, asm.R0)
	c.Get(load.WaitMap.Of(c.Join), key, none)
	c.Emit(asm.LoadMem(asm.R0, asm.R0, WaitingNode, asm.DWord))
	c.Store(node, asm.R0)
	c.Place(none)
	c.Load(asm.R0, depth)
	c.Store(s.Depth, asm.R0)
	c.Place(root)
	c.Code.Stack = mark
}

// Search searches a stack from its top for a call of a source. It jumps to found with the
// call's address in R0 and the depth below the call at s.Depth.
func (c *CallStacks) Search(s CallStack, key int16, source int, found assembler.Label) {
	none := c.Label()
	c.Emit(asm.Mov.Imm(asm.R9, 0))
	next := c.Loop()
	gone := c.Label()
	c.Load(asm.R0, s.Depth)
	c.IfImm(asm.JEq, asm.R0, 0, none)
	c.IfImm(asm.JGE, asm.R9, join.MaxDepth, none)
	c.Emit(asm.Add.Imm(asm.R9, 1), asm.Sub.Imm(asm.R0, 1))
	c.Store(s.Depth, asm.R0)
	c.Get(load.WaitMap.Of(c.Join), key, gone)
	c.Emit(asm.LoadMem(asm.R1, asm.R0, WaitingEvent, asm.DWord))
	c.IfImm(asm.JEq, asm.R1, int32(source+1), found)
	c.Place(gone)
	c.Again(next)
	c.Place(none)
}

// Returned adds the duration of a call to the time inside its caller, or deletes the
// stack if there is no caller. s.Depth is the caller's depth afterwards.
func (c *CallStacks) Returned(s CallStack, key, delay int16) {
	outermost, known := c.Label(), c.Label()
	c.Load(asm.R0, s.Depth)
	c.IfImm(asm.JEq, asm.R0, 0, outermost)
	c.Emit(asm.Sub.Imm(asm.R0, 1))
	c.Store(s.Depth, asm.R0)
	c.Get(load.WaitMap.Of(c.Join), key, known)
	c.Load(asm.R2, delay)
	c.Emit(asm.LoadMem(asm.R1, asm.R0, WaitingInside, asm.DWord), asm.Add.Reg(asm.R1, asm.R2),
		asm.StoreMem(asm.R0, WaitingInside, asm.R1, asm.DWord))
	c.GoTo(known)
	c.Place(outermost)
	if !c.Tasks {
		c.MapPtr(asm.R1, load.DepthMap.Of(c.Join))
		c.Addr(asm.R2, key)
		c.Call(asm.FnMapDeleteElem)
	}
	c.Place(known)
}

// Child replaces the number in node by the number of its child node for a
// function, as join.Tree does. functions is the number of functions of the
// join. A routine makes a child that is not known yet.
func (c *CallStacks) Child(node int16, function, functions int) {
	mark := c.Code.Stack
	path := c.Alloc(8)
	known, done := c.Label(), c.Label()
	tree := load.TreeMap.Of(c.Join)
	c.Load(asm.R0, node)
	c.Emit(asm.LSh.Imm(asm.R0, 32), asm.Or.Imm(asm.R0, int32(function)))
	c.Store(path, asm.R0)
	c.Look(tree, path, known)
	c.MapPtr(asm.R1, tree)
	c.MapPtr(asm.R2, load.NodesMap.Of(c.Join))
	c.MapValue(asm.R3, load.NodeCountMap.Of(c.Join), 0)
	c.Addr(asm.R4, path)
	c.Emit(asm.Mov.Imm(asm.R5, int32(functions)))
	c.Routine(routines, "new_child")
	c.Store(node, asm.R0)
	c.GoTo(done)
	c.Place(known)
	c.Emit(asm.LoadMem(asm.R0, asm.R0, 0, asm.DWord))
	c.Store(node, asm.R0)
	c.Place(done)
	c.Code.Stack = mark
}

// Maps defines the maps of the stacks and of the tree. depths describes the map of the
// depths.
func (c *CallStacks) Maps(depths *ebpf.MapSpec, define func(load.MapID, *ebpf.MapSpec)) {
	define(load.DepthMap.Of(c.Join), depths)
	if c.Shared {
		define(load.LockMap.Of(c.Join), &ebpf.MapSpec{
			Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: locks,
		})
	}
	define(load.TreeMap.Of(c.Join), &ebpf.MapSpec{
		Type: ebpf.Hash, KeySize: 8, ValueSize: 8, MaxEntries: join.MaxNodes,
	})
	define(load.NodesMap.Of(c.Join), &ebpf.MapSpec{
		Type: ebpf.Array, KeySize: 4, ValueSize: load.NodeSize, MaxEntries: join.MaxNodes,
	})
	define(load.NodeCountMap.Of(c.Join), &ebpf.MapSpec{
		Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1,
	})
}

// Count adds the number at a place to a statistic of the program.
func (c *CallStacks) Count(stats load.MapID, stat int, n int16) {
	mark := c.Code.Stack
	none := c.Label()
	c.Load(asm.R0, n)
	c.IfImm(asm.JEq, asm.R0, 0, none)
	k := c.Alloc(8)
	c.Zero(k, 8)
	c.Get(stats, k, none)
	c.Load(asm.R2, n)
	c.Emit(asm.LoadMem(asm.R1, asm.R0, int16(8*stat), asm.DWord), asm.Add.Reg(asm.R1, asm.R2),
		asm.StoreMem(asm.R0, int16(8*stat), asm.R1, asm.DWord))
	c.Place(none)
	c.Code.Stack = mark
}
