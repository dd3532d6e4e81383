package bpf

import (
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/argument"
	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/bpf/outbox"
	"ppscript/bpf/owner"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/join"
	"ppscript/runtime/sent"
)

// This file generates join.Join.Events: an end takes away the event that waits
// under its key and makes a pair with it if that is of the stage before and
// older; then the end waits itself, if it may be a start.
//
// Waiting events are in a hash, or, if the key is the running thread, in the
// task's own storage: that needs no hash, no delete and no bound. The idle
// tasks have one thread number between them and are tasks of their own, so that
// way is only for events that no idle task has.

// pairEnv is the scope of expressions on a pair.
type pairEnv struct {
	join   *joinOp
	start  int     // the input
	end    env     // what the end is, if operators made it
	fields []int16 // places of join.saved
	delay  int16
	key    int16
	now    int16   // the time of the end
	call   []int16 // by slot: places of what nested pairs have
}

// savedLimit bounds the size of a waiting event; it is copied to the stack.
const savedLimit = 192

// prepareJoin settles the parts of a waiting event, once: the fields of starts that pairs
// read.
func (s *graph) prepareJoin(j *joinOp, host *Host) {
	if s.isPrepared(j) {
		return
	}
	takes := func(f *feed) bool { return f.join == j && !f.untraced() }
	s.prepareMakers(host, takes)
	tasks := host.TaskStorage
	var keys []keyed
	s.taking(takes, func(e *source, in env, f *feed) {
		keys = append(keys, keyed{e, in, keysOf(f.key), nil})
		if len(keys[len(keys)-1].keys) != len(keys[0].keys) {
			refuse("join key %s has another number of parts than others", f.key)
		}
		tasks = tasks && in == (env{}) && owner.Thread(f.key) && owner.NeverIdle(e.Event)
	})
	if len(keys) == 0 {
		refuse("nothing feeds a join")
	}
	j.cols, j.keyRoom = columnsOf(keys)
	for i := range j.cols {
		if j.cols[i].Stack {
			refuse("join key %s is a stack", keys[0].keys[i])
		}
	}
	if j.spec.Nested {
		s.prepareNested(j, host)
	} else {
		j.tasks = tasks && len(j.lefts) == 0 // ppscript reads what waits
	}
	alone := host.TaskStorage && !slices.ContainsFunc(keys, func(k keyed) bool {
		return k.env != (env{}) || len(k.keys) != 1 || !owner.Thread(k.keys[0])
	})
	for i := range j.lefts {
		s.prepareLeft(j, &j.lefts[i])
	}
	for _, p := range j.pairs {
		s.saves(j, &p)
		j.keepsTexts(s, &p, alone)
		for k := range p.feeds {
			if f := &p.feeds[k]; f.emit != nil {
				s.sends(j, &p, f.emit)
			}
		}
	}
	if j.size-waitSaved > savedLimit {
		refuse("%d bytes of each start event", j.size-waitSaved)
	}
}

// saves notes the fields of the start that somebody reads of a pair.
func (s *graph) saves(j *joinOp, p *pair) {
	for _, own := range inside(s.readOf(p.feeds), expr.Start) {
		sf := savedField{name: savedName(own), field: own, event: p.start, size: 8}
		if own.Type().Kind == expr.Str {
			sf.text = true
			s.origins(p.start, func(_ *source, in env) { sf.size = max(sf.size, in.fieldRoom(own)) })
		}
		j.save(sf)
	}
}

// save has a field wait with its event, once. Events of different streams use the
// same memory: only one waits in a place.
func (j *joinOp) save(f savedField) {
	f.off = waitSaved
	for _, have := range j.saved {
		if have.event != f.event {
			continue
		}
		if have.name == f.name {
			return
		}
		f.off = have.off + have.size
	}
	j.size = max(j.size, f.off+f.size)
	j.saved = append(j.saved, f)
}

// A joiner brings the events of a program to a join, and its pairs on.
type joiner struct {
	*gate
	join  *joinOp
	input int // the event at hand
	pairs func(f *feed)
	kept  *sent.Kept
	// chained says that the event's time has been fetched.
	chained bool
	// context is where the context of a kept event stands on the stack; 0 is nowhere.
	context int16
	hash    int16 // and that of its stack
}

// feed brings the event to the join.
func (o *joiner) feed(f *feed) {
	c, j := o.code, o.join
	mark := c.Stack
	done, failed, starting := c.Label(), c.Label(), c.Label()
	o.eval.fail = failed
	o.takes(f, done)
	var now int16
	if f.keep != nil {
		now = o.keep(f, o.kept)
	}
	if f.next != nil {
		o.running(f)
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
	var role int16 // of an event that may be both: what it is
	if f.role != nil {
		o.eval.value(f.role)
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
	key := c.Alloc(j.keyRoom + 8) // calls are found by their depth too
	o.eval.keys(key, j.cols, keysOf(f.key))
	if now == 0 {
		now = o.now()
	}
	switch {
	case j.spec.Nested && ends:
		o.leave(f, key, now, done)
	case j.spec.Nested:
		o.enter(f, key, now, done)
	case ends:
		if role != 0 && starts {
			c.Load(asm.R0, role)
			c.Emit(asm.And.Imm(asm.R0, mayEnd))
			c.IfImm(asm.JEq, asm.R0, 0, starting)
		}
		o.end(f, key, now, starting)
	}
	c.Place(starting)
	if starts && !j.spec.Nested {
		o.eval.fail = failed
		if role != 0 && ends {
			c.Load(asm.R0, role)
			c.Emit(asm.And.Imm(asm.R0, mayStart))
			c.IfImm(asm.JEq, asm.R0, 0, done)
		}
		kept := c.Label()
		o.keepTexts(false, kept)
		c.Place(kept)
		if len(j.lefts) > 0 {
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
		c.TaskValue(load.WaitMap.Of(j.index), false)
		c.IfImm(asm.JEq, asm.R0, 0, alone)
		c.Emit(asm.LoadMem(asm.R1, asm.R0, waitEvent, asm.DWord))
		c.IfImm(asm.JEq, asm.R1, 0, alone)
	} else {
		c.Get(load.WaitMap.Of(j.index), key, alone)
	}
	c.Emit(asm.Mov.Reg(asm.R7, asm.R0))
	// Who waits is copied first: another CPU uses the place as soon as it is
	// given back.
	var sends *outbox.Record
	var begun, who int16
	fields := make([]int16, len(j.saved))
	if len(j.lefts) > 0 {
		sends = o.outgoing()
		o.taken(sends)
		begun, who = waiting(sends)+waitTime, waiting(sends)+waitEvent
		for i, sf := range j.saved {
			fields[i] = waiting(sends) + int16(sf.off)
		}
	} else {
		begun, who = c.Alloc(8), c.Alloc(8)
		o.copied(begun, who, fields)
	}
	if j.tasks {
		c.Emit(assembler.StoreImm(asm.R7, waitEvent, 0))
	} else {
		c.MapPtr(asm.R1, load.WaitMap.Of(j.index))
		c.Addr(asm.R2, key)
		c.Call(asm.FnMapDeleteElem)
		c.IfImm(asm.JNE, asm.R0, 0, alone) // another CPU was faster
	}
	delay := c.Alloc(8)
	c.Load(asm.R0, now)
	c.Load(asm.R1, begun)
	c.IfReg(asm.JLE, asm.R0, asm.R1, cancelled)
	c.Emit(asm.Sub.Reg(asm.R0, asm.R1))
	c.Store(delay, asm.R0)
	for i := range j.pairs {
		p := &j.pairs[i]
		if p.end != o.input {
			continue
		}
		other := c.Label()
		c.Load(asm.R0, who)
		c.IfImm(asm.JNE, asm.R0, int32(p.start+1), other)
		o.readAgain(p)
		o.makes(p, &pairEnv{join: j, start: p.start, fields: fields, delay: delay, key: key, now: now})
		c.GoTo(starting)
		c.Place(other)
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
		o.count(load.StatUnmatched)
		if sends != nil {
			o.sendNow(join.Alone, now)
		}
	}
	c.Stack = mark
}

// copied copies what the pairs of the program's event read of the one that waits at R7.
func (o *joiner) copied(begun, who int16, fields []int16) {
	c, j := o.code, o.join
	copyWord := func(to int16, from int) {
		c.Emit(asm.LoadMem(asm.R1, asm.R7, int16(from), asm.DWord))
		c.Store(to, asm.R1)
	}
	copyWord(begun, waitTime)
	copyWord(who, waitEvent)
	size := 0
	for _, sf := range j.saved {
		if o.ends(sf.event) {
			size = max(size, sf.off+sf.size-waitSaved)
		}
	}
	saved := c.Alloc(size)
	for at := 0; at < size; at += 8 {
		copyWord(saved+int16(at), waitSaved+at)
	}
	for i, sf := range j.saved {
		fields[i] = saved + int16(sf.off-waitSaved)
	}
}

// ends reports that the program's event ends pairs with the start.
func (o *joiner) ends(start int) bool {
	return slices.ContainsFunc(o.join.pairs, func(p pair) bool {
		return p.end == o.input && p.start == start
	})
}

// wait lets the event wait under its key; who waits there gives way.
func (o *joiner) wait(key, now int16, done label) {
	c, j := o.code, o.join
	mark := c.Stack
	full, fresh := c.Label(), c.Label()
	value := c.Alloc(j.size)
	o.fill(value, now)
	if j.tasks {
		c.TaskValue(load.WaitMap.Of(j.index), true)
		c.IfImm(asm.JEq, asm.R0, 0, full)
		c.Emit(asm.Mov.Reg(asm.R7, asm.R0), asm.LoadMem(asm.R1, asm.R7, waitEvent, asm.DWord))
		c.IfImm(asm.JEq, asm.R1, 0, fresh)
		o.count(load.StatUnmatched)
		c.Place(fresh)
		for at := 0; at < j.size; at += 8 {
			c.Load(asm.R1, value+int16(at))
			c.Emit(asm.StoreMem(asm.R7, int16(at), asm.R1, asm.DWord))
		}
	} else {
		c.Put(load.WaitMap.Of(j.index), key, value, ebpf.UpdateNoExist)
		c.IfImm(asm.JEq, asm.R0, 0, done)
		c.Widen()
		c.IfImm(asm.JNE, asm.R0, -17, full) // EEXIST
		o.count(load.StatUnmatched)
		c.Put(load.WaitMap.Of(j.index), key, value, ebpf.UpdateAny)
		c.IfImm(asm.JNE, asm.R0, 0, full)
	}
	c.GoTo(done)
	c.Place(full)
	o.count(load.StatEvicted)
	c.Stack = mark
}

// fill makes what waits of the event.
func (o *joiner) fill(value, now int16) {
	c, j := o.code, o.join
	c.Zero(value+waitSaved, j.size-waitSaved)
	c.Load(asm.R0, now)
	c.Store(value+waitTime, asm.R0)
	c.Emit(assembler.StoreImm(asm.R10, value+waitEvent, int32(o.input+1)))
	for _, sf := range j.saved {
		if sf.event != o.input {
			continue
		}
		at := value + int16(sf.off)
		switch {
		case sf.name == savedNode, sf.name == savedInside: // see enter
		case sf.name == savedTask:
			c.Load(asm.R0, o.eval.members.PidTgid())
			c.Store(at, asm.R0)
		case sf.name == savedStack && o.hash != 0:
			for i := int16(0); i < load.StackKey; i += 8 {
				c.Load(asm.R0, o.hash+i)
				c.Store(at+i, asm.R0)
			}
		case sf.name == savedStack:
			o.stack(at, o.eval.hook.Event.Stack)
		case sf.name == savedContext && o.input != o.eval.hook.Index:
			o.eval.members.Moment(at, false, false)
		case sf.name == savedContext && o.context != 0 && j.flags:
			c.Load(asm.R0, o.context)
			c.Store(at, asm.R0)
		case sf.name == savedContext:
			o.eval.members.Moment(at, j.flags, !j.late[sf.event])
		case sf.located:
			o.eval.hook.Located(at, sf.size, sf.field.F)
		case sf.array:
			o.eval.hook.Array(at, sf.field.F)
		case sf.text:
			o.eval.text(at, sf.size, sf.field)
		case sf.user:
			o.eval.arguments().Line(at, sf.size, sf.field.F)
		case sf.read:
			o.eval.arguments().Sent(at, sf.field.F)
		default:
			in := argument.Scratch(sf.field)
			o.eval.field(in, sf.field)
			c.Store(at, in)
		}
	}
}

// tidNode and cpuNode are the running task and CPU.
var (
	tidNode  = memberNode("_tid", event.MemberTID)
	cpuNode  = memberNode("_cpu", event.MemberCPU)
	timeNode = memberNode("_time", event.MemberTime)
)

func memberNode(name string, f event.Member) *expr.Field {
	return &expr.Field{F: &event.Field{Name: name, Place: event.InMember, Member: f, Size: 4, Signed: true}}
}

// runsOn looks up who runs on the CPU in R0, as the task's number and 1; 0 is
// not known. It jumps to none if there is no such CPU.
func (o *joiner) runsOn(none label) {
	c := o.code
	k := c.Alloc(8)
	c.Store(k, asm.R0)
	c.Get(load.RunningMap.Of(o.join.index), k, none) // the key's lower half is the index
}

// running notes who runs on this CPU from now on.
func (o *joiner) running(f *feed) {
	c := o.code
	mark := c.Stack
	none := c.Label()
	o.eval.field(asm.R0, cpuNode)
	o.runsOn(none)
	c.Emit(asm.Mov.Reg(asm.R7, asm.R0))
	o.eval.value(f.next)
	c.Emit(asm.Add.Imm(asm.R0, 1), asm.StoreMem(asm.R7, 0, asm.R0, asm.DWord))
	c.Place(none)
	c.Stack = mark
}

// What an event may be, as in join.In.Role.
const (
	mayStart = 1
	mayEnd   = 2
)

// awake has a wakeup of who does not wait start nothing; it may still end a pair. It
// returns where on the stack stands what the event may be; 0 if that is known.
func (o *joiner) awake(f *feed, role int16, ends bool, done label) int16 {
	if !ends {
		o.unnecessary(f, done)
		return 0
	}
	c := o.code
	if role == 0 {
		role = c.Alloc(8)
		c.Emit(assembler.StoreImm(asm.R10, role, mayStart|mayEnd))
	}
	asleep, awake := c.Label(), c.Label()
	o.unnecessary(f, awake)
	c.GoTo(asleep)
	c.Place(awake)
	c.Load(asm.R0, role)
	c.Emit(asm.And.Imm(asm.R0, mayEnd))
	c.IfImm(asm.JEq, asm.R0, 0, done)
	c.Store(role, asm.R0)
	c.Place(asleep)
	return role
}

// unnecessary jumps to done if the event wakes who does not wait: the running
// task, or one that runs where it is woken and had only prepared to sleep.
func (o *joiner) unnecessary(f *feed, done label) {
	c := o.code
	mark := c.Stack
	woken, waits := c.Alloc(8), c.Label()
	o.eval.value(f.wakes)
	c.Store(woken, asm.R0)
	o.eval.field(asm.R1, tidNode)
	c.IfReg(asm.JEq, asm.R0, asm.R1, done)
	if f.wakesOn != nil {
		c.IfImm(asm.JSLE, asm.R0, 0, waits)
		o.eval.value(f.wakesOn)
		o.runsOn(waits)
		c.Emit(asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord), asm.Sub.Imm(asm.R1, 1))
		c.Load(asm.R0, woken)
		c.IfReg(asm.JEq, asm.R0, asm.R1, done)
	}
	c.Place(waits)
	c.Stack = mark
}
