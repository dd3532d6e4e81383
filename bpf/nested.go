package bpf

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/join"
)

// This file generates join.Nested.Events: each key has a stack of the calls that were
// entered, and a return ends the newest one of its function.
//
// A map has the depth of each key's stack, and another one the calls, by key and depth.
// What waits of a call begins with its place in the tree of calls and with the time that
// the calls inside it took. The tree is made here too: a map has the number of each
// function below each place, an array what is at each number. ppscript reads the array
// when it shows the tree (load/calls.go).
//
// A stack has no lock. So keys are those of which one CPU at a time has events: the
// running thread, and the CPU. A program that interrupts another one enters its calls and
// returns from them before that one goes on.

// What waits of a call, in front of what somebody reads of its entry.
const (
	savedNode   = "node"
	savedInside = "inside"
	waitNode    = waitSaved
	waitInside  = waitSaved + 8
)

// callStack is what a program knows of the call that ends.
type callStack struct {
	depth int16 // place of the depth, which is the end of the key of its call
	top   int16 // place of the address of the stack's depth
}

// prepareNested settles what waits of calls.
func (s *graph) prepareNested(j *joinOp, host *Host) {
	if !host.Atomics {
		refuse("a tree of calls needs Linux 5.12")
	}
	if len(j.lefts) > 0 {
		refuse("calls without a partner are wanted")
	}
	thread := j.spec.ByThread && host.TaskStorage
	for i, e := range s.sources {
		for k := range e.feeds {
			f := &e.feeds[k]
			if f.join != j || f.untraced() {
				continue
			}
			if !ownedByOne(f.key) {
				refuse("key %s, which calls on several CPUs may have at a time", f.key)
			}
			thread = thread && neverIdle(e.Schema.System, e.Schema.Name)
			if !f.returns {
				j.save(savedField{name: savedNode, field: tidNode, event: i, size: 8})
				j.save(savedField{name: savedInside, field: tidNode, event: i, size: 8})
			}
		}
	}
	j.tasks = thread // it is the depth that is kept with the task
}

// ownedByOne reports that one CPU at a time has events of a key.
func ownedByOne(n expr.Node) bool {
	some, only := false, true
	for _, f := range expr.UsesOf(n).Fields {
		own := f.Part == expr.Self && f.View == expr.ViewValue && (f.F.Name == "common_pid" ||
			f.F.Place == event.InMember && (f.F.Member == event.MemberTID || f.F.Member == event.MemberCPU))
		some, only = true, only && own
	}
	return some && only
}

// enter puts a call on its stack. Behind the key is room for the depth.
func (o *joiner) enter(f *feed, key, now int16, done label) {
	c, j := o.code, o.join
	mark := c.Stack
	full, fits, root, made := c.Label(), c.Label(), c.Label(), c.Label()
	s := o.stackOf(key, true, full)
	c.Load(asm.R0, s.depth)
	c.IfImm(asm.JLT, asm.R0, join.MaxDepth, fits)
	o.countMany(load.StatEvicted, s.depth) // their returns do not come
	c.Emit(assembler.StoreImm(asm.R10, s.depth, 0))
	c.Place(fits)
	node, depth := c.Alloc(8), c.Alloc(8)
	c.Emit(assembler.StoreImm(asm.R10, node, 0))
	c.Load(asm.R0, s.depth)
	c.Store(depth, asm.R0)
	c.IfImm(asm.JEq, asm.R0, 0, root)
	c.Emit(asm.Sub.Imm(asm.R0, 1))
	c.Store(s.depth, asm.R0)
	c.Get(load.WaitMap.Of(j.index), key, made)
	c.Emit(asm.LoadMem(asm.R0, asm.R0, waitNode, asm.DWord))
	c.Store(node, asm.R0)
	c.Place(made)
	c.Load(asm.R0, depth)
	c.Store(s.depth, asm.R0)
	c.Place(root)
	o.child(node, f.stage)

	value := c.Alloc(j.size)
	o.fill(value, now)
	c.Load(asm.R0, node)
	c.Store(value+waitNode, asm.R0)
	c.Put(load.WaitMap.Of(j.index), key, value, ebpf.UpdateAny)
	c.IfImm(asm.JNE, asm.R0, 0, full)
	c.Load(asm.R1, s.top)
	c.Load(asm.R0, s.depth)
	c.Emit(asm.Add.Imm(asm.R0, 1), asm.StoreMem(asm.R1, 0, asm.R0, asm.DWord))
	c.GoTo(done)
	c.Place(full)
	o.count(load.StatEvicted)
	c.Stack = mark
}

// stackOf finds the stack of a key; it jumps to none if there is none, or if none can be
// made.
func (o *joiner) stackOf(key int16, create bool, none label) callStack {
	c, j := o.code, o.join
	s := callStack{depth: key + int16(j.keyRoom), top: c.Alloc(8)}
	depths := load.DepthMap.Of(j.index)
	if j.tasks {
		c.TaskValue(depths, create)
		c.IfImm(asm.JEq, asm.R0, 0, none)
	} else {
		found := c.Label()
		c.Look(depths, key, found)
		if !create {
			c.GoTo(none)
		} else {
			c.Emit(assembler.StoreImm(asm.R10, s.depth, 0))
			c.Put(depths, key, s.depth, ebpf.UpdateNoExist)
			c.Get(depths, key, none)
		}
		c.Place(found)
	}
	c.Store(s.top, asm.R0)
	c.Emit(asm.LoadMem(asm.R0, asm.R0, 0, asm.DWord))
	c.Store(s.depth, asm.R0)
	return s
}

// leave ends the newest call of the function that returns; those above it lost their
// returns.
func (o *joiner) leave(f *feed, key, now int16, done label) {
	c, j := o.code, o.join
	mark := c.Stack
	alone, found, cancelled := c.Label(), c.Label(), c.Label()
	s := o.stackOf(key, false, alone)
	above := c.Alloc(8)
	c.Load(asm.R0, s.depth)
	c.Store(above, asm.R0)
	entry := j.entryOf(o.eval.hook.Index)
	c.Emit(asm.Mov.Imm(asm.R9, 0))
	next := c.Loop()
	gone := c.Label()
	c.Load(asm.R0, s.depth)
	c.IfImm(asm.JEq, asm.R0, 0, alone)
	c.IfImm(asm.JGE, asm.R9, join.MaxDepth, alone)
	c.Emit(asm.Add.Imm(asm.R9, 1), asm.Sub.Imm(asm.R0, 1))
	c.Store(s.depth, asm.R0)
	c.Get(load.WaitMap.Of(j.index), key, gone)
	c.Emit(asm.LoadMem(asm.R1, asm.R0, waitEvent, asm.DWord))
	c.IfImm(asm.JEq, asm.R1, int32(entry+1), found)
	c.Place(gone)
	c.Again(next)

	c.Place(found)
	c.Emit(asm.Mov.Reg(asm.R7, asm.R0))
	begun, who := c.Alloc(8), c.Alloc(8)
	fields := make([]int16, len(j.saved))
	o.copied(begun, who, fields)
	node, inside := fields[j.savedAt(entry, savedNode)], fields[j.savedAt(entry, savedInside)]
	c.MapPtr(asm.R1, load.WaitMap.Of(j.index))
	c.Addr(asm.R2, key)
	c.Call(asm.FnMapDeleteElem)
	// The depth is now that of the call, and so is the stack's.
	depth := c.Alloc(8)
	c.Load(asm.R1, s.top)
	c.Load(asm.R0, s.depth)
	c.Store(depth, asm.R0)
	c.Emit(asm.StoreMem(asm.R1, 0, asm.R0, asm.DWord))
	c.Load(asm.R1, above)
	c.Emit(asm.Sub.Reg(asm.R1, asm.R0), asm.Sub.Imm(asm.R1, 1))
	c.Store(above, asm.R1)
	o.countMany(load.StatUnmatched, above)
	delay := c.Alloc(8)
	c.Load(asm.R0, now)
	c.Load(asm.R1, begun)
	c.IfReg(asm.JLE, asm.R0, asm.R1, cancelled)
	c.Emit(asm.Sub.Reg(asm.R0, asm.R1))
	c.Store(delay, asm.R0)
	o.caller(s, key, delay)
	c.Load(asm.R0, delay)
	c.Load(asm.R1, inside)
	c.Emit(asm.Sub.Reg(asm.R0, asm.R1))
	c.Store(inside, asm.R0) // without the calls inside
	for i := range j.pairs {
		p := &j.pairs[i]
		if p.end != o.eval.hook.Index {
			continue
		}
		o.eval.env.pair = &pairEnv{join: j, start: p.start, fields: fields, delay: delay, key: key, now: now,
			call: []int16{0, node, depth, inside}}
		for k := range p.feeds {
			o.pairs(&p.feeds[k])
		}
		o.eval.env.pair = nil
	}
	c.GoTo(done)
	c.Place(alone)
	o.count(load.StatUnmatched)
	c.GoTo(done)
	c.Place(cancelled)
	o.count(load.StatUnmatched)
	c.Stack = mark
}

// caller adds how long a call took to the one that made it, or forgets the stack if
// nobody did. The depth is that of the caller afterwards.
func (o *joiner) caller(s callStack, key, delay int16) {
	c, j := o.code, o.join
	outermost, known := c.Label(), c.Label()
	c.Load(asm.R0, s.depth)
	c.IfImm(asm.JEq, asm.R0, 0, outermost)
	c.Emit(asm.Sub.Imm(asm.R0, 1))
	c.Store(s.depth, asm.R0)
	c.Get(load.WaitMap.Of(j.index), key, known)
	c.Load(asm.R2, delay)
	c.Emit(asm.LoadMem(asm.R1, asm.R0, waitInside, asm.DWord), asm.Add.Reg(asm.R1, asm.R2),
		asm.StoreMem(asm.R0, waitInside, asm.R1, asm.DWord))
	c.GoTo(known)
	c.Place(outermost)
	if !j.tasks {
		c.MapPtr(asm.R1, load.DepthMap.Of(j.index))
		c.Addr(asm.R2, key)
		c.Call(asm.FnMapDeleteElem)
	}
	c.Place(known)
}

// entryOf is the source that enters the function from which another one returns.
func (j *joinOp) entryOf(end int) int {
	for _, p := range j.pairs {
		if p.end == end {
			return p.start
		}
	}
	refuse("a return of no function")
	return 0
}

// savedAt is the index of what waits with an event under a name.
func (j *joinOp) savedAt(source int, name string) int {
	for i := range j.saved {
		if s := &j.saved[i]; s.event == source && s.name == name {
			return i
		}
	}
	panic("BUG: " + name + " of a call was not foreseen")
}

// child leaves in node the number of a function's call below that number, as
// join.Tree.child does.
func (o *joiner) child(node int16, stage int) {
	c, j := o.code, o.join
	mark := c.Stack
	k, at, index := c.Alloc(8), c.Alloc(8), c.Alloc(8)
	known, done, alias := c.Label(), c.Label(), c.Label()
	tree, nodes := load.TreeMap.Of(j.index), load.NodesMap.Of(j.index)
	c.Load(asm.R0, node)
	c.Store(at, asm.R0)
	c.Emit(asm.LSh.Imm(asm.R0, 32), asm.Or.Imm(asm.R0, int32(stage)))
	c.Store(k, asm.R0)
	c.Look(tree, k, known)

	// Slow path, once for each path: the function may be among its callers.
	fresh, recursive := c.Label(), c.Label()
	c.Emit(asm.Mov.Imm(asm.R9, 0))
	next := c.Loop()
	c.Load(asm.R0, at)
	c.IfImm(asm.JEq, asm.R0, 0, fresh)
	c.IfImm(asm.JGE, asm.R9, int32(j.stages+1), fresh)
	c.Emit(asm.Add.Imm(asm.R9, 1))
	c.Store(index, asm.R0)
	c.Get(nodes, index, fresh)
	c.Emit(asm.LoadMem(asm.R1, asm.R0, load.NodeStage, asm.DWord))
	c.IfImm(asm.JEq, asm.R1, int32(stage), recursive)
	c.Emit(asm.LoadMem(asm.R1, asm.R0, load.NodeParent, asm.DWord))
	c.Store(at, asm.R1)
	c.Again(next)
	c.Place(recursive)
	c.Emit(assembler.StoreImm(asm.R0, load.NodeState, load.NodeMade|load.NodeRecursive))
	c.GoTo(alias)

	c.Place(fresh)
	c.MapValue(asm.R1, load.NodeCountMap.Of(j.index), 0)
	c.Emit(asm.Mov.Imm(asm.R0, 1), assembler.Exchange(asm.FetchAdd, asm.R1, asm.R0, 0), asm.Add.Imm(asm.R0, 1))
	c.IfImm(asm.JGE, asm.R0, join.MaxNodes, done) // it stays with its caller
	c.Store(at, asm.R0)
	c.Store(index, asm.R0)
	c.Get(nodes, index, done)
	c.Load(asm.R1, node)
	c.Emit(asm.StoreMem(asm.R0, load.NodeParent, asm.R1, asm.DWord),
		assembler.StoreImm(asm.R0, load.NodeStage, int32(stage)),
		assembler.StoreImm(asm.R0, load.NodeState, load.NodeMade))
	c.Place(alias)
	ours := c.Label()
	c.Put(tree, k, at, ebpf.UpdateNoExist)
	c.IfImm(asm.JEq, asm.R0, 0, ours)
	c.Look(tree, k, known) // another CPU made it at the same time
	c.Place(ours)
	c.Load(asm.R0, at)
	c.Store(node, asm.R0)
	c.GoTo(done)
	c.Place(known)
	c.Emit(asm.LoadMem(asm.R0, asm.R0, 0, asm.DWord))
	c.Store(node, asm.R0)
	c.Place(done)
	c.Stack = mark
}

// countMany adds what stands on the stack to a statistic.
func (o *joiner) countMany(stat int, n int16) {
	c := o.code
	mark := c.Stack
	none := c.Label()
	c.Load(asm.R0, n)
	c.IfImm(asm.JEq, asm.R0, 0, none)
	k := c.Alloc(8)
	c.Zero(k, 8)
	c.Get(load.StatsMap.Of(o.eval.hook.Index), k, none)
	c.Load(asm.R2, n)
	c.Emit(asm.LoadMem(asm.R1, asm.R0, int16(8*stat), asm.DWord), asm.Add.Reg(asm.R1, asm.R2),
		asm.StoreMem(asm.R0, int16(8*stat), asm.R1, asm.DWord))
	c.Place(none)
	c.Stack = mark
}

// callMaps adds the maps of a join of calls, beside that of what waits.
func (im *Image) callMaps(j *joinOp, limit uint32) {
	depths := &ebpf.MapSpec{
		Type: ebpf.Hash, KeySize: uint32(j.keyRoom), ValueSize: 8, MaxEntries: limit,
	}
	if j.tasks {
		depths = taskMap(8)
	}
	im.define(load.DepthMap.Of(j.index), depths)
	im.define(load.TreeMap.Of(j.index), &ebpf.MapSpec{
		Type: ebpf.Hash, KeySize: 8, ValueSize: 8, MaxEntries: join.MaxNodes,
	})
	im.define(load.NodesMap.Of(j.index), &ebpf.MapSpec{
		Type: ebpf.Array, KeySize: 4, ValueSize: load.NodeSize, MaxEntries: join.MaxNodes,
	})
	im.define(load.NodeCountMap.Of(j.index), &ebpf.MapSpec{
		Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1,
	})
}

// Calls is the number of a join in the programs, if these make its tree of calls.
func (im *Image) Calls(of *join.Spec) (index int, ok bool) {
	for _, j := range im.graph.joins {
		if j.spec == of && of.Nested {
			return j.index, true
		}
	}
	return 0, false
}
