package bpf

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/eval"
	"ppscript/bpf/load"
	"ppscript/bpf/outbox"
	"ppscript/bpf/state"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/record/sent"
)

// This file generates join.Nested.Events: each key has a stack of the calls that were
// entered, and a return ends the newest one of its function.
//
// Package callstack has the stacks, and the tree of calls, which ppscript reads when it
// shows it (load/calls.go). Keys of which one CPU at a time has events, the running thread and
// the CPU, need no lock.

// prepareNested settles what waits of calls.
func (s *layout) prepareNested(j *joinOp, host *Host) {
	if !host.Atomics {
		refuse("a tree of calls needs Linux 5.12")
	}
	// Calls of threads that ended wait until the end, if somebody wants them.
	thread := j.spec.ByThread && host.TaskStorage && len(j.unpaired) == 0
	takes := func(f *feed) bool { return f.join == j && !f.untraced() }
	s.taking(takes, func(e *source, in eval.Env, f *feed) {
		j.shared = j.shared || !state.OneCPU(f.key)
		thread = thread && in == (eval.Env{}) && state.NeverIdle(e.Event)
		if !f.returns {
			j.Waits.Save(waits(sent.Node, f.input, false))
			j.Waits.Save(waits(sent.Inside, f.input, false))
		}
	})
	j.tasks = thread // it is the depth that is kept with the task
}

// stacks returns the stacks of calls of the join.
func (o *joiner) stacks() *state.CallStacks {
	j := o.join
	return &state.CallStacks{Code: o.code, Join: j.Index, Tasks: j.tasks, KeyRoom: j.KeyRoom}
}

// enter puts a call on its stack. Behind the key is room for the depth.
func (o *joiner) enter(f *feed, key, now int16, done label) {
	c, j := o.code, o.join
	mark := c.Stack
	full, fits := c.Label(), c.Label()
	stacks := o.stacks()
	s := stacks.Find(key, true, full)
	c.Load(asm.R0, s.Depth)
	c.IfImm(asm.JLT, asm.R0, join.MaxDepth, fits)
	stacks.Count(load.StatsMap.Of(o.eval.Hook.Index), load.StatEvicted, s.Depth) // their returns do not come
	o.forgets(s, key, join.Evicted, now)
	c.Set(s.Depth, 0)
	c.Place(fits)
	node := c.Alloc(8)
	stacks.Top(s, key, node)
	stacks.Child(node, f.stage, j.stages)

	var sends *outbox.Record
	var value int16
	if len(j.unpaired) > 0 {
		sends = o.outgoing()
		value = waitsIn(sends)
	} else {
		value = c.Alloc(j.Waits.Size())
	}
	o.fill(value, now)
	c.Load(asm.R0, node)
	c.Store(value+state.WaitingNode, asm.R0)
	stacks.Grow(s, key)
	c.Put(load.WaitMap.Of(j.Index), key, value, ebpf.UpdateAny)
	c.IfImm(asm.JEq, asm.R0, 0, done)
	stacks.Shrink(s, key)
	o.count(load.StatEvicted)
	if sends != nil {
		o.leaves(sends, join.Evicted, 0)
	}
	c.GoTo(done)
	c.Place(full) // there is no room for another stack
	o.count(load.StatEvicted)
	c.Stack = mark
	if sends != nil {
		o.sendNow(join.Evicted, now)
	}
	c.Stack = mark
}

// leave ends the newest call of the function that returns; those above it lost their
// returns.
func (o *joiner) leave(f *feed, key, now int16, done label) {
	c, j := o.code, o.join
	mark := c.Stack
	alone, found, cancelled := c.Label(), c.Label(), c.Label()
	stacks := o.stacks()
	s := stacks.Find(key, false, alone)
	above := c.Alloc(8)
	c.Load(asm.R0, s.Depth)
	c.Store(above, asm.R0)
	entry := j.entryOf(o.input)
	stacks.Search(s, key, entry, found)
	c.GoTo(alone)

	c.Place(found)
	c.Emit(asm.Mov.Reg(asm.R7, asm.R0))
	begun, who := c.Alloc(8), c.Alloc(8)
	fields := make([]int16, len(j.Waits.Fields))
	o.copied(begun, who, fields)
	node := fields[j.savedAt(entry, &sent.Column{Origin: sent.Node})]
	inside := fields[j.savedAt(entry, &sent.Column{Origin: sent.Inside})]
	if len(j.unpaired) > 0 {
		o.forgetsRange(s.Depth, above)
	}
	c.MapPtr(asm.R1, load.WaitMap.Of(j.Index))
	c.Addr(asm.R2, key)
	c.Call(asm.FnMapDeleteElem)
	o.forgets(s, key, join.Cancelled, now)
	// The depth is now that of the call, and so is the stack's.
	depth := c.Alloc(8)
	c.Load(asm.R1, s.Top)
	c.Load(asm.R0, s.Depth)
	c.Store(depth, asm.R0)
	c.Emit(asm.StoreMem(asm.R1, 0, asm.R0, asm.DWord))
	c.Load(asm.R1, above)
	c.Emit(asm.Sub.Reg(asm.R1, asm.R0), asm.Sub.Imm(asm.R1, 1))
	c.Store(above, asm.R1)
	stacks.Count(load.StatsMap.Of(o.eval.Hook.Index), load.StatUnmatched, above)
	delay := c.Alloc(8)
	c.Load(asm.R0, now)
	c.Load(asm.R1, begun)
	c.IfReg(asm.JLE, asm.R0, asm.R1, cancelled)
	c.Emit(asm.Sub.Reg(asm.R0, asm.R1))
	c.Store(delay, asm.R0)
	stacks.Returned(s, key, delay)
	c.Load(asm.R0, delay)
	c.Load(asm.R1, inside)
	c.Emit(asm.Sub.Reg(asm.R0, asm.R1))
	c.Store(inside, asm.R0) // without the calls inside
	for i := range j.pairs {
		p := &j.pairs[i]
		if p.end != o.input {
			continue
		}
		o.makes(p, &eval.Pair{Join: &j.Join, Start: p.start, Fields: fields, Delay: delay, Key: key, Now: now,
			Call: []int16{0, node, depth, inside}})
	}
	c.GoTo(done)
	c.Place(alone)
	o.count(load.StatEndsAlone)
	if len(j.unpaired) > 0 {
		c.Stack = mark
		o.sendNow(join.Alone, now)
	}
	c.GoTo(done)
	c.Place(cancelled)
	o.count(load.StatUnmatched)
	c.Stack = mark
}

// forgets sends and deletes the calls on top of a stack, which stay without a return: all,
// or, where they are cancelled, the calls above the call that returns, whose depth s has.
// It does nothing where nobody wants them. It counts in the memory of the stack, of which
// the verifier knows no numbers: so it looks at each turn once.
func (o *joiner) forgets(s state.CallStack, key int16, why join.Reason, now int16) {
	c, j := o.code, o.join
	if len(j.unpaired) == 0 {
		return
	}
	mark := c.Stack
	r := o.outgoing()
	depth, n := c.Alloc(8), c.Alloc(8)
	c.Load(asm.R0, s.Depth)
	c.Store(depth, asm.R0)
	c.Zero(n, 8)
	next, end, gone := c.Loop(), c.Label(), c.Label()
	c.Load(asm.R1, n)
	c.IfImm(asm.JGE, asm.R1, join.MaxDepth, end)
	c.Emit(asm.Add.Imm(asm.R1, 1))
	c.Store(n, asm.R1)
	c.Load(asm.R1, s.Top)
	c.Emit(asm.LoadMem(asm.R0, asm.R1, 0, asm.DWord))
	c.IfImm(asm.JEq, asm.R0, 0, end)
	c.Emit(asm.Sub.Imm(asm.R0, 1))
	if why == join.Cancelled {
		c.Load(asm.R2, depth)
		c.IfReg(asm.JLE, asm.R0, asm.R2, end) // the call that returns
	}
	c.Emit(asm.StoreMem(asm.R1, 0, asm.R0, asm.DWord))
	c.Store(s.Depth, asm.R0)
	c.Get(load.WaitMap.Of(j.Index), key, gone)
	c.Emit(asm.Mov.Reg(asm.R7, asm.R0))
	o.copyWaiting(r)
	c.MapPtr(asm.R1, load.WaitMap.Of(j.Index))
	c.Addr(asm.R2, key)
	c.Call(asm.FnMapDeleteElem)
	o.leaves(r, why, now)
	c.Place(gone)
	c.Again(next)
	c.Place(end)
	c.Load(asm.R0, depth)
	c.Store(s.Depth, asm.R0)
	c.Stack = mark
}

// forgetsRange has the verifier know nothing of numbers but that they are some: it does
// not follow what passed the memory of a map, here that of the call at R7 that is over.
func (o *joiner) forgetsRange(places ...int16) {
	c := o.code
	for _, at := range places {
		c.Load(asm.R0, at)
		c.Emit(asm.StoreMem(asm.R7, state.WaitingInside, asm.R0, asm.DWord),
			asm.LoadMem(asm.R0, asm.R7, state.WaitingInside, asm.DWord))
		c.Store(at, asm.R0)
	}
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

// savedAt is the index of what waits with an event as a column.
func (j *joinOp) savedAt(source int, c *sent.Column) int {
	if i := j.Waits.At(source, c); i >= 0 {
		return i
	}
	panic("BUG: a column of a start was not foreseen")
}

// Calls is the number of a join in the programs, if these make its tree of calls.
func (im *Image) Calls(of *join.Spec) (index int, ok bool) {
	for _, j := range im.layout.joins {
		if j.spec == of && of.Nested {
			return j.Index, true
		}
	}
	return 0, false
}
