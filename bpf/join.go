package bpf

import (
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
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
	start  int     // index of the event
	fields []int16 // places of join.saved
	delay  int16
	key    int16
}

// savedLimit bounds the size of a waiting event; it is copied to the stack.
const savedLimit = 192

// prepareJoin settles the parts of a waiting event: the fields of starts that pairs read.
func (s *graph) prepareJoin(j *joinOp, host *Host) {
	tasks := host.TaskStorage
	first := true
	for _, e := range s.sources {
		for k := range e.feeds {
			f := &e.feeds[k]
			if f.join != j {
				continue
			}
			text := f.key.Type().Kind == expr.Str
			if !text && !f.key.Type().Numeric() {
				refuse("join key %s is a %s", f.key, f.key.Type())
			}
			if !first && text != j.text {
				refuse("join key %s has two kinds", f.key)
			}
			first, j.text = false, text
			j.keyRoom = max(j.keyRoom, 8)
			if text {
				j.keyRoom = max(j.keyRoom, env{}.room(f.key))
			}
			tasks = tasks && isThread(f.key) && neverIdle(e.Schema.System, e.Schema.Name)
		}
	}
	j.tasks = tasks
	for _, p := range j.pairs {
		for k := range p.feeds {
			f := &p.feeds[k]
			j.saves(p.start, f)
			if f.emit != nil {
				s.sends(j, &p, f.emit)
			}
		}
	}
	if j.size-waitSaved > savedLimit {
		refuse("%d bytes of each start event", j.size-waitSaved)
	}
}

// saves notes the fields of the start that a feed of its pairs reads.
func (j *joinOp) saves(start int, f *feed) {
	nodes := append([]expr.Node(nil), f.preds...)
	nodes = append(append(nodes, f.keys...), f.key, f.step)
	for _, a := range f.args {
		nodes = append(nodes, a.fn, a.where)
	}
	for _, n := range nodes {
		if n == nil {
			continue
		}
		expr.Walk(n, func(n expr.Node) bool {
			fld, ok := n.(*expr.Field)
			if !ok || fld.Part != expr.Start {
				return true
			}
			name := savedName(fld)
			own := &expr.Field{F: fld.F, View: fld.View}
			sf := savedField{name: name, field: own, event: start, size: 8}
			if own.Type().Kind == expr.Str {
				sf.text, sf.size = true, env{}.fieldRoom(own)
			}
			j.save(sf)
			return true
		})
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

// isThread reports that a key is the running thread.
func isThread(n expr.Node) bool {
	f, ok := n.(*expr.Field)
	return ok && isTID(f)
}

func isTID(f *expr.Field) bool {
	return f.Part == expr.Self && f.View == expr.ViewValue && f.F.Place == event.InMember &&
		f.F.Member == event.MemberTID
}

// neverIdle names events that idle tasks do not have.
func neverIdle(system, name string) bool {
	switch system {
	case "raw_syscalls", "syscalls", "filemap":
		return true
	case "sched":
		return name == "sched_process_exit" || name == "sched_process_exec"
	}
	return false
}

// A joiner brings the events of a program to a join, and its pairs on.
type joiner struct {
	*gate
	join  *joinOp
	pairs func(f *feed)
}

// feed brings the event to the join.
func (o *joiner) feed(f *feed) {
	c, j := o.code, o.join
	mark := c.stack
	done, failed, starting := c.label(), c.label(), c.label()
	o.eval.fail = failed
	o.takes(f, done)
	if f.next != nil {
		o.running(f)
	}
	starts, ends := f.stage < j.stages-1 || j.spec.Cycle, f.stage > 0 || j.spec.Cycle
	var role int16
	if f.role != nil {
		role = c.alloc(8)
		o.eval.value(f.role)
		if starts != ends {
			bit := int32(1)
			if ends {
				bit = 2
			}
			c.emit(asm.And.Imm(asm.R0, bit))
			c.ifImm(asm.JEq, asm.R0, 0, done)
		} else {
			c.emit(asm.And.Imm(asm.R0, 3))
			c.ifImm(asm.JEq, asm.R0, 0, done)
			c.store(role, asm.R0)
		}
	}
	if f.wakes != nil {
		if ends {
			refuse("a wakeup that ends a pair")
		}
		o.unnecessary(f, done)
	}
	key := c.alloc(j.keyRoom)
	if j.text {
		o.eval.wholeText(key, j.keyRoom, f.key)
	} else {
		o.eval.value(f.key)
		c.store(key, asm.R0)
	}
	c.call(asm.FnKtimeGetNs)
	now := c.alloc(8)
	c.store(now, asm.R0)
	if ends {
		if role != 0 && starts {
			c.load(asm.R0, role)
			c.emit(asm.And.Imm(asm.R0, 2))
			c.ifImm(asm.JEq, asm.R0, 0, starting)
		}
		o.end(f, key, now, starting)
	}
	c.place(starting)
	if starts {
		o.eval.fail = failed
		if role != 0 && ends {
			c.load(asm.R0, role)
			c.emit(asm.And.Imm(asm.R0, 1))
			c.ifImm(asm.JEq, asm.R0, 0, done)
		}
		o.wait(key, now, done)
	}
	c.goTo(done)
	c.place(failed)
	o.count(load.StatErrors)
	c.place(done)
	c.stack = mark
}

// end takes away the waiting event and makes pairs; it falls through, or
// jumps to starting, when that is done.
func (o *joiner) end(f *feed, key, now int16, starting label) {
	c, j := o.code, o.join
	mark := c.stack
	alone, cancelled := c.label(), c.label()
	if j.tasks {
		c.taskValue(load.WaitMap.Of(j.index), false)
		c.ifImm(asm.JEq, asm.R0, 0, alone)
		c.emit(asm.LoadMem(asm.R1, asm.R0, waitEvent, asm.DWord))
		c.ifImm(asm.JEq, asm.R1, 0, alone)
	} else {
		c.get(load.WaitMap.Of(j.index), key, alone)
	}
	c.emit(asm.Mov.Reg(asm.R7, asm.R0))
	// Who waits is copied first: another CPU uses the place as soon as it is
	// given back.
	begun, who := c.alloc(8), c.alloc(8)
	copyWord := func(to int16, from int) {
		c.emit(asm.LoadMem(asm.R1, asm.R7, int16(from), asm.DWord))
		c.store(to, asm.R1)
	}
	copyWord(begun, waitTime)
	copyWord(who, waitEvent)
	fields := make([]int16, len(j.saved))
	size := 0
	for _, sf := range j.saved {
		if o.ends(sf.event) {
			size = max(size, sf.off+sf.size-waitSaved)
		}
	}
	saved := c.alloc(size)
	for at := 0; at < size; at += 8 {
		copyWord(saved+int16(at), waitSaved+at)
	}
	for i, sf := range j.saved {
		fields[i] = saved + int16(sf.off-waitSaved)
	}
	if j.tasks {
		c.emit(storeImm(asm.R7, waitEvent, 0))
	} else {
		c.mapPtr(asm.R1, load.WaitMap.Of(j.index))
		c.addr(asm.R2, key)
		c.call(asm.FnMapDeleteElem)
		c.ifImm(asm.JNE, asm.R0, 0, alone) // another CPU was faster
	}
	delay := c.alloc(8)
	c.load(asm.R0, now)
	c.load(asm.R1, begun)
	c.ifReg(asm.JLE, asm.R0, asm.R1, cancelled)
	c.emit(asm.Sub.Reg(asm.R0, asm.R1))
	c.store(delay, asm.R0)
	for i := range j.pairs {
		p := &j.pairs[i]
		if p.end != o.eval.hook.index {
			continue
		}
		other := c.label()
		c.load(asm.R0, who)
		c.ifImm(asm.JNE, asm.R0, int32(p.start+1), other)
		o.eval.env.pair = &pairEnv{join: j, start: p.start, fields: fields, delay: delay, key: key}
		for k := range p.feeds {
			o.pairs(&p.feeds[k])
		}
		o.eval.env.pair = nil
		c.goTo(starting)
		c.place(other)
	}
	c.place(cancelled)
	o.count(load.StatUnmatched)
	c.goTo(starting)
	c.place(alone)
	if f.stage > 0 {
		o.count(load.StatUnmatched)
	}
	c.stack = mark
}

// ends reports that the program's event ends pairs with the start.
func (o *joiner) ends(start int) bool {
	return slices.ContainsFunc(o.join.pairs, func(p pair) bool {
		return p.end == o.eval.hook.index && p.start == start
	})
}

// wait lets the event wait under its key; who waits there gives way.
func (o *joiner) wait(key, now int16, done label) {
	c, j := o.code, o.join
	mark := c.stack
	full, fresh := c.label(), c.label()
	value := c.alloc(j.size)
	c.zero(value+waitSaved, j.size-waitSaved)
	c.load(asm.R0, now)
	c.store(value+waitTime, asm.R0)
	c.emit(storeImm(asm.R10, value+waitEvent, int32(o.eval.hook.index+1)))
	for _, sf := range j.saved {
		if sf.event != o.eval.hook.index {
			continue
		}
		at := value + int16(sf.off)
		switch {
		case sf.name == savedTask:
			c.load(asm.R0, o.eval.members.pidTgid())
			c.store(at, asm.R0)
		case sf.name == savedContext:
			o.eval.members.moment(at, j.flags, !j.late[sf.event])
		case sf.array:
			o.eval.hook.array(at, sf.field.F)
		case sf.text:
			o.eval.text(at, sf.size, sf.field)
		default:
			o.eval.field(asm.R0, sf.field)
			c.store(at, asm.R0)
		}
	}
	if j.tasks {
		c.taskValue(load.WaitMap.Of(j.index), true)
		c.ifImm(asm.JEq, asm.R0, 0, full)
		c.emit(asm.Mov.Reg(asm.R7, asm.R0), asm.LoadMem(asm.R1, asm.R7, waitEvent, asm.DWord))
		c.ifImm(asm.JEq, asm.R1, 0, fresh)
		o.count(load.StatUnmatched)
		c.place(fresh)
		for at := 0; at < j.size; at += 8 {
			c.load(asm.R1, value+int16(at))
			c.emit(asm.StoreMem(asm.R7, int16(at), asm.R1, asm.DWord))
		}
	} else {
		c.put(load.WaitMap.Of(j.index), key, value, ebpf.UpdateNoExist)
		c.ifImm(asm.JEq, asm.R0, 0, done)
		c.widen()
		c.ifImm(asm.JNE, asm.R0, -17, full) // EEXIST
		o.count(load.StatUnmatched)
		c.put(load.WaitMap.Of(j.index), key, value, ebpf.UpdateAny)
		c.ifImm(asm.JNE, asm.R0, 0, full)
	}
	c.goTo(done)
	c.place(full)
	o.count(load.StatEvicted)
	c.stack = mark
}

// tidNode and cpuNode are the running task and CPU.
var (
	tidNode = memberNode("_tid", event.MemberTID)
	cpuNode = memberNode("_cpu", event.MemberCPU)
)

func memberNode(name string, f event.Member) *expr.Field {
	return &expr.Field{F: &event.Field{Name: name, Place: event.InMember, Member: f, Size: 4, Signed: true}}
}

// runsOn looks up who runs on the CPU in R0, as the task's number and 1; 0 is
// not known. It jumps to none if there is no such CPU.
func (o *joiner) runsOn(none label) {
	c := o.code
	k := c.alloc(8)
	c.store(k, asm.R0)
	c.get(load.RunningMap.Of(o.join.index), k, none) // the key's lower half is the index
}

// running notes who runs on this CPU from now on.
func (o *joiner) running(f *feed) {
	c := o.code
	mark := c.stack
	none := c.label()
	o.eval.field(asm.R0, cpuNode)
	o.runsOn(none)
	c.emit(asm.Mov.Reg(asm.R7, asm.R0))
	o.eval.value(f.next)
	c.emit(asm.Add.Imm(asm.R0, 1), asm.StoreMem(asm.R7, 0, asm.R0, asm.DWord))
	c.place(none)
	c.stack = mark
}

// unnecessary jumps to done if the event wakes who does not wait: the running
// task, or one that runs where it is woken and had only prepared to sleep.
func (o *joiner) unnecessary(f *feed, done label) {
	c := o.code
	mark := c.stack
	woken, waits := c.alloc(8), c.label()
	o.eval.value(f.wakes)
	c.store(woken, asm.R0)
	o.eval.field(asm.R1, tidNode)
	c.ifReg(asm.JEq, asm.R0, asm.R1, done)
	if f.wakesOn != nil {
		c.ifImm(asm.JSLE, asm.R0, 0, waits)
		o.eval.value(f.wakesOn)
		o.runsOn(waits)
		c.emit(asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord), asm.Sub.Imm(asm.R1, 1))
		c.load(asm.R0, woken)
		c.ifReg(asm.JEq, asm.R0, asm.R1, done)
	}
	c.place(waits)
	c.stack = mark
}
