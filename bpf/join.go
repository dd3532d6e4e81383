package bpf

import (
	"slices"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/eval"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/bpf/outbox"
	"ppscript/bpf/state"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/record/sent"
)

// This file generates join.Join.Events: an end takes away the event that waits
// under its key and makes a pair with it if that is of the stage before and
// older; then the end waits itself, if it may be a start.
//
// Waiting events are in a hash, or, if the key is the running thread, in the
// task's own storage: that needs no hash, no delete and no bound. The idle
// tasks have one thread number between them and are tasks of their own, so that
// way is only for events that no idle task has.

// prepareJoin settles the parts of a waiting event, once: the fields of starts that pairs
// read.
func (s *layout) prepareJoin(j *joinOp, host *Host) {
	if s.isPrepared(j) {
		return
	}
	takes := func(f *feed) bool { return f.join == j && !f.untraced() }
	s.prepareMakers(host, takes)
	tasks := host.TaskStorage
	var keys []keyExprs
	s.taking(takes, func(e *source, in eval.Env, f *feed) {
		keys = append(keys, keyExprs{e, in, keysOf(f.key), nil})
		if len(keys[len(keys)-1].keys) != len(keys[0].keys) {
			refuse("join key %s has another number of parts than others", f.key)
		}
		tasks = tasks && in == (eval.Env{}) && state.IsThread(f.key) && state.NeverIdle(e.Event)
	})
	if len(keys) == 0 {
		refuse("nothing feeds a join")
	}
	j.Cols, j.KeyRoom = columnsOf(keys)
	checkKey(host, j.KeyRoom+8) // the depth of a call follows it
	for i := range j.Cols {
		if j.Cols[i].Stack {
			refuse("join key %s is a stack", keys[0].keys[i])
		}
	}
	if j.spec.Nested {
		s.prepareNested(j, host)
	} else {
		j.tasks = tasks && len(j.unpaired) == 0 // ppscript reads what waits
	}
	alone := host.TaskStorage && !slices.ContainsFunc(keys, func(k keyExprs) bool {
		return k.env != (eval.Env{}) || len(k.keys) != 1 || !state.IsThread(k.keys[0])
	})
	for i := range j.unpaired {
		s.prepareUnpaired(j, &j.unpaired[i])
	}
	for _, p := range j.pairs {
		j.keepsTexts(s, &p, alone)
		s.saves(j, &p)
		for k := range p.feeds {
			if f := &p.feeds[k]; f.emit != nil {
				s.sends(j, &p, f.emit)
			}
		}
	}
	if j.Waits.Size()-state.WaitingFields > state.WaitingLimit {
		refuse("%d bytes of each start event", j.Waits.Size()-state.WaitingFields)
	}
}

// saves notes the fields of the start that readers of a pair need.
func (s *layout) saves(j *joinOp, p *pair) {
	for _, own := range inside(s.readOf(p.feeds), expr.Start) {
		if hook.TextAddress(own.F) != nil && own.Part == expr.Self {
			continue // see keepsTexts
		}
		sf := state.Field{Column: sent.Column{Of: own, Size: 8}, Event: p.start}
		if own.Type().Kind == expr.Str {
			sf.Form = sent.Text
			s.origins(p.start, func(_ *source, in eval.Env) { sf.Size = max(sf.Size, in.FieldRoom(own)) })
		}
		j.Waits.Save(sf)
	}
}

// A joiner brings the events of a program to a join, and its pairs on.
type joiner struct {
	*gate
	join  *joinOp
	input int // the event at hand
	pairs func(f *feed)
	kept  *sent.KeptLayout
	// chained says that the event's time has been fetched.
	chained bool
	// context is the stack offset of a kept event's context; 0 is none.
	context int16
	hash    int16 // stack offset of the hash of its call stack
}

// feed brings the event to the join.
func (o *joiner) feed(f *feed) {
	c, j := o.code, o.join
	mark := c.Stack
	done, failed, starting := c.Label(), c.Label(), c.Label()
	o.eval.Fail = failed
	o.takes(f, done)
	var now int16
	if f.keep != nil {
		now = o.keep(f, o.kept)
	}
	if f.next != nil {
		o.wakeups().running(f.next)
	}
	if f.untraced() {
		c.GoTo(done)
		c.Place(failed)
		o.count(load.StatErrors)
		c.Place(done)
		c.Stack = mark
		return
	}
	starts, ends := f.stage < j.stages-1 || j.spec.Cycle, f.stage > 0 || j.spec.Cycle
	if j.spec.Nested {
		starts, ends = !f.returns, f.returns
	}
	var role int16 // for an event that may be start or end: its role
	if f.role != nil {
		o.eval.Value(f.role)
		may := int32(event.Bit(starts)*mayStart | event.Bit(ends)*mayEnd)
		c.Emit(asm.And.Imm(asm.R0, may))
		c.IfImm(asm.JEq, asm.R0, 0, done)
		if starts && ends {
			role = c.Alloc(8)
			c.Store(role, asm.R0)
		}
	}
	if f.wakes != nil && starts {
		role = o.awake(f, role, ends, done)
	}
	key := c.Alloc(j.KeyRoom + 8) // calls are found by their depth too
	o.eval.Keys(key, j.Cols, keysOf(f.key))
	over, broken, busy := done, failed, c.Label()
	unlock := func() {}
	if j.shared {
		over, broken = c.Label(), c.Label()
		unlock = o.stacks().Lock(key, func() { o.eval.Field(asm.R8, cpuNode) }, busy)
	}
	o.eval.Fail = broken
	o.share.Test(key, j.KeyRoom, over)
	defer func() { o.share.Hash = 0 }()
	if now == 0 {
		now = o.now()
	}
	switch {
	case j.spec.Nested && ends:
		o.leave(f, key, now, over)
	case j.spec.Nested:
		o.enter(f, key, now, over)
	case ends:
		if role != 0 && starts {
			c.Load(asm.R0, role)
			c.Emit(asm.And.Imm(asm.R0, mayEnd))
			c.IfImm(asm.JEq, asm.R0, 0, starting)
		}
		o.end(f, key, now, starting)
	}
	if j.shared {
		c.GoTo(over)
		c.Place(broken)
		o.count(load.StatErrors)
		c.Place(over)
		unlock()
		c.GoTo(done)
		c.Place(busy)
		o.count(load.StatLost)
		c.GoTo(done)
	}
	c.Place(starting)
	if starts && !j.spec.Nested {
		o.eval.Fail = failed
		if role != 0 && ends {
			c.Load(asm.R0, role)
			c.Emit(asm.And.Imm(asm.R0, mayStart))
			c.IfImm(asm.JEq, asm.R0, 0, done)
		}
		kept := c.Label()
		o.keepTexts(false, kept)
		c.Place(kept)
		if len(j.unpaired) > 0 {
			o.waitSent(key, now, done)
		} else {
			o.wait(key, now, done)
		}
	}
	c.GoTo(done)
	c.Place(failed)
	o.count(load.StatErrors)
	c.Place(done)
	c.Stack = mark
}

// end takes away the waiting event and makes pairs; it falls through, or
// jumps to starting, when that is done.
func (o *joiner) end(f *feed, key, now int16, starting label) {
	c, j := o.code, o.join
	mark := c.Stack
	alone, cancelled := c.Label(), c.Label()
	if j.tasks {
		c.TaskValue(load.WaitMap.Of(j.Index), false)
		c.IfImm(asm.JEq, asm.R0, 0, alone)
		c.Emit(asm.LoadMem(asm.R1, asm.R0, state.WaitingEvent, asm.DWord))
		c.IfImm(asm.JEq, asm.R1, 0, alone)
	} else {
		c.Get(load.WaitMap.Of(j.Index), key, alone)
	}
	c.Emit(asm.Mov.Reg(asm.R7, asm.R0))
	// The waiting event is copied first: another CPU uses the place as soon as it is
	// given back.
	var sends *outbox.Record
	var begun, who int16
	var later func()
	fields := make([]int16, len(j.Waits.Fields))
	if len(j.unpaired) > 0 {
		sends = o.outgoing()
		o.copyWaiting(sends)
		begun, who = waitsIn(sends)+state.WaitingTime, waitsIn(sends)+state.WaitingEvent
		for i, sf := range j.Waits.Fields {
			fields[i] = waitsIn(sends) + int16(sf.Off)
		}
	} else {
		begun, who = c.Alloc(8), c.Alloc(8)
		later = o.copied(begun, who, fields)
	}
	if j.tasks {
		c.Emit(assembler.StoreImm(asm.R7, state.WaitingEvent, 0))
	} else {
		c.MapPtr(asm.R1, load.WaitMap.Of(j.Index))
		c.Addr(asm.R2, key)
		c.Call(asm.FnMapDeleteElem)
		c.IfImm(asm.JNE, asm.R0, 0, alone) // another CPU was faster
	}
	delay, weight, broken := c.Alloc(8), o.share.Weight, c.Label()
	c.Load(asm.R0, now)
	c.Load(asm.R1, begun)
	c.IfReg(asm.JLE, asm.R0, asm.R1, cancelled)
	c.Emit(asm.Sub.Reg(asm.R0, asm.R1))
	c.Store(delay, asm.R0)
	if weight != 0 {
		o.share.Weight = o.share.Since(begun, broken)
	}
	for i := range j.pairs {
		p := &j.pairs[i]
		if p.end != o.input {
			continue
		}
		other := c.Label()
		c.Load(asm.R0, who)
		c.IfImm(asm.JNE, asm.R0, int32(p.start+1), other)
		o.readAgain(p)
		o.makes(p, &eval.Pair{Join: &j.Join, Start: p.start, Fields: fields, Delay: delay, Key: key, Now: now,
			Later: later})
		c.GoTo(starting)
		c.Place(other)
	}
	if o.share.Weight = weight; weight != 0 {
		c.GoTo(cancelled)
		c.Place(broken)
		o.count(load.StatBroken)
		c.GoTo(starting)
	}
	c.Place(cancelled)
	o.count(load.StatUnmatched)
	if sends != nil {
		o.leaves(sends, join.Cancelled, now)
	}
	c.GoTo(starting)
	c.Stack = mark
	c.Place(alone)
	if f.stage > 0 {
		o.count(load.StatEndsAlone)
		if sends != nil {
			o.sendNow(join.Alone, now)
		}
	}
	c.Stack = mark
}

// What an event may be, as in join.In.Role.
const (
	mayStart = 1
	mayEnd   = 2
)

// awake keeps the wakeup of a thread that does not wait from starting a pair; it may still end
// one. It returns the stack offset of the event's role; 0 if the role is constant.
func (o *joiner) awake(f *feed, role int16, ends bool, done label) int16 {
	if !ends {
		o.wakeups().unnecessary(f.wakes, f.wakesOn, done)
		return 0
	}
	c := o.code
	if role == 0 {
		role = c.Alloc(8)
		c.Emit(assembler.StoreImm(asm.R10, role, mayStart|mayEnd))
	}
	asleep, awake := c.Label(), c.Label()
	o.wakeups().unnecessary(f.wakes, f.wakesOn, awake)
	c.GoTo(asleep)
	c.Place(awake)
	c.Load(asm.R0, role)
	c.Emit(asm.And.Imm(asm.R0, mayEnd))
	c.IfImm(asm.JEq, asm.R0, 0, done)
	c.Store(role, asm.R0)
	c.Place(asleep)
	return role
}
