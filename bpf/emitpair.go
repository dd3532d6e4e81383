package bpf

import (
	"cmp"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/sent"
)

// This file sends pairs: the edge out of the kernel lies behind a join, and only the
// pairs leave for which its predicates hold. A record has the fields of both events
// that somebody reads (runtime/perf/pair.go). Those of the start wait with it.

// What waits of a start for who sends its pairs, beside fields.
const (
	savedTask    = "task"
	savedContext = "context"
)

// sends notes what waits of the starts of pairs that are sent.
func (s *graph) sends(j *joinOp, p *pair, r *record) {
	j.save(savedField{name: savedTask, field: tidNode, event: p.start, size: 8})
	j.save(savedField{name: savedContext, field: cpuNode, event: p.start, size: 8})
	j.flags = j.flags || r.Context
	r.together = taskContext(s.sources[p.start].Schema) && taskContext(s.sources[p.end].Schema)
	if j.late == nil {
		j.late = map[int]bool{}
	}
	late, known := j.late[p.start]
	j.late[p.start] = r.together && (late || !known)
	for _, f := range r.Fields {
		if f.Part != expr.Start {
			continue
		}
		sf := savedField{
			name:  savedName(f),
			field: &expr.Field{F: f.F, View: f.View},
			event: p.start,
			size:  8,
		}
		switch f.F.Kind {
		case event.Str:
			sf.text, sf.size = true, env{}.fieldRoom(sf.field)
		case event.Array:
			sf.array, sf.size = true, arraySize(f.F)
		}
		j.save(sf)
	}
}

// arraySize is the size of an array that programs copy by words.
func arraySize(f *event.Field) int {
	if f.Place != event.InRaw || f.Offset%8 != 0 || f.Size%8 != 0 || f.Size > savedLimit {
		refuse("field %s is an array of another form", f.Name)
	}
	return f.Size
}

// layPair settles the places in the record of a pair.
func (r *record) layPair() {
	r.slots, r.size = nil, sent.PairSize
	if r.Whole || len(r.Texts) > 0 {
		refuse("whole records of pairs")
	}
	for _, f := range r.Fields {
		s := slot{field: f, size: f.F.Size}
		_, known := sizes[s.size]
		switch {
		case f.F.Place != event.InRaw || f.View != expr.ViewValue:
			refuse("field %s is not at a fixed place of its record", f.F.Name)
		case f.F.Kind == event.Str:
			s.text, s.size = true, env{}.fieldRoom(f)
		case f.F.Kind == event.Array:
			s.array, s.size = true, arraySize(f.F)
		case f.F.Kind != event.Int || !known:
			refuse("field %s is neither a number nor a text", f.F.Name)
		}
		r.slots = append(r.slots, s)
	}
	slices.SortStableFunc(r.slots, func(a, b slot) int { return cmp.Compare(min(b.size, 8), min(a.size, 8)) })
	for i := range r.slots {
		r.slots[i].off = r.size
		r.size += r.slots[i].size
	}
	if r.size > 3*savedLimit/2 {
		refuse("%d bytes of each pair", r.size)
	}
}

// Pairs are the streams of pairs that the programs send. Start and End are indices
// in Part.Events; who reads them knows the schema of each by its stream.
func (im *Image) Pairs() (pairs []sent.Pair, streams []int) {
	for _, j := range im.graph.joins {
		for k := range j.pairs {
			p := &j.pairs[k]
			for _, f := range p.feeds {
				if f.emit == nil {
					continue
				}
				st := pairsOf(j.spec, im.graph.sources[p.start].Stream, im.graph.sources[p.end].Stream)
				pairs = append(pairs, sent.Pair{
					Schema: st.Schema,
					Label:  st.Label,
					Start:  p.start,
					End:    p.end,
					Starts: f.emit.part(expr.Start, im.graph.sources[p.start].Schema),
					Ends:   f.emit.part(expr.End, im.graph.sources[p.end].Schema),
				})
				streams = append(streams, st.Index)
			}
		}
	}
	return pairs, streams
}

// part says how the fields of one event of a pair become its record.
func (r *record) part(p expr.Part, schema *event.Schema) *sent.Projection {
	out := &sent.Projection{Size: max(schema.Size, 8)}
	for _, s := range r.slots {
		if f := s.field.F; s.field.Part == p {
			out.Copies = append(out.Copies, sent.Copy{From: s.off, To: f.Offset, Size: f.Size})
			out.Size = max(out.Size, f.Offset+f.Size)
		}
	}
	return out
}

// pair sends the pair if all predicates hold.
func (s *sender) pair(f *feed) {
	c, r, p := s.code, s.record, s.eval.env.pair
	end, failed := c.Label(), c.Label()
	s.eval.fail = failed
	s.takes(f, end)
	data := outgoing{size: sent.HeadSize + r.size, stream: r.stream}
	data.at = c.Alloc(data.size)
	at := data.at + sent.HeadSize
	copyWord := func(to int, from int16) {
		c.Load(asm.R0, from)
		c.Store(at+int16(to), asm.R0)
	}
	copyWord(sent.PairDelay, p.delay)
	copyWord(sent.PairTask, p.waited(savedTask))
	copyWord(sent.PairStartContext, p.waited(savedContext))
	s.eval.members.moment(at+sent.PairEndContext, r.Context, true)
	if r.Context && p.join.late[p.start] {
		c.Emit(asm.LoadMem(asm.R0, asm.R10, at+sent.PairEndContext+sent.ContextPreempt/8, asm.Byte),
			asm.StoreMem(asm.R10, at+sent.PairStartContext+sent.ContextPreempt/8, asm.R0, asm.Byte))
	}

	for _, slot := range r.slots {
		to := at + int16(slot.off)
		switch {
		case slot.array && slot.field.Part == expr.Start:
			from, _ := s.eval.env.saved(slot.field)
			for o := 0; o < slot.size; o += 8 {
				copyWord(slot.off+o, from+int16(o))
			}
		case slot.array:
			s.eval.hook.array(to, slot.field.F)
		case slot.text:
			s.eval.text(to, slot.size, slot.field)
		default:
			s.eval.field(asm.R0, slot.field)
			c.Emit(asm.StoreMem(asm.R10, to, asm.R0, sizes[slot.size]))
		}
	}
	s.send(&data)
	c.GoTo(end)
	c.Place(failed)
	s.count(load.StatErrors)
	c.Place(end)
}

// waited is the place of what waited with the start under a name.
func (p *pairEnv) waited(name string) int16 {
	for i := range p.join.saved {
		if s := &p.join.saved[i]; s.event == p.start && s.name == name {
			return p.fields[i]
		}
	}
	panic("BUG: " + name + " of the start was not foreseen")
}

// array copies an array of the record to the stack.
func (h *hook) array(to int16, f *event.Field) {
	c := h.code
	if h.raw != nil {
		h.rawArray(to, f.Name)
		return
	}
	if h.kind != ebpf.TracePoint {
		refuse("field %s is not in the record", f.Name)
	}
	for o := 0; o < f.Size; o += 8 {
		h.ctx(asm.R0, f.Offset+o, 8, false)
		c.Store(to+int16(o), asm.R0)
	}
}

// Of preempt_count() in linux/preempt.h, and of enum trace_flag_type in
// linux/trace_events.h.
const (
	preemptDepth  = 0xff
	softIRQBits   = 0xff00
	servesSoftIRQ = 0x100
	hardIRQBits   = 0xf0000
	nmiBits       = 0xf00000

	flagIRQsOff     = 1
	flagLazy        = 2
	flagNeedResched = 4
	flagHardIRQ     = 8
	flagSoftIRQ     = 0x10
	flagPreempt     = 0x20
	flagNMI         = 0x40
	flagBHOff       = 0x80
)

// taskContext tells events that happen in the context of a task with interrupts on and
// no lock held, and lockedContext those under the lock of a run queue or of a task,
// with interrupts off. Of others only their records tell: a program cannot see it.
func taskContext(s *event.Schema) bool {
	switch s.FullName() {
	case "raw_syscalls:sys_enter", "raw_syscalls:sys_exit", "sched:sched_process_exit":
		return true
	}
	return false
}

func lockedContext(s *event.Schema) bool {
	switch s.FullName() {
	case "sched:sched_switch", "sched:sched_wakeup", "sched:sched_wakeup_new", "sched:sched_waking":
		return true
	}
	return false
}

// moment puts the context of the event, as sent.Pair has it, to a place of the
// stack. flags adds what the kernel puts into the common fields of a record, as
// tracing_gen_ctx_irq_test in kernel/trace/trace.c does: when programs run, these
// are not made yet. count says that the preemption count is read for it.
func (m *members) moment(to int16, flags, count bool) {
	c, host := m.hook.code, m.hook.host
	m.read(asm.R0, cpuNode.F)
	c.Store(to, asm.R0)
	if !flags {
		return
	}
	source := m.hook.source
	info, has := host.Member("task_struct", "thread_info")
	bits, is := host.Member("thread_info", "flags")
	switch {
	case !taskContext(source.Schema) && !lockedContext(source.Schema):
		refuse("only the record of %s tells whether interrupts were disabled, which lines show", source.Label)
	case !has || !is || host.NeedResched == 0 || host.LazyResched == 0:
		refuse("programs do not see the flags of tasks of this kernel, which lines show")
	}
	if count {
		m.preemptCount()
		c.Emit(asm.Mov.Reg(asm.R7, asm.R0))
	}
	c.Emit(asm.Mov.Imm(asm.R8, flagIRQsOff*int32(b2i(lockedContext(source.Schema)))))

	// flag sets one if the bits in a register have one of a mask.
	flag := func(value asm.Register, mask, flag int32) {
		skip := c.Label()
		c.Emit(asm.Mov.Reg32(asm.R1, value), asm.And.Imm32(asm.R1, mask))
		c.IfImm(asm.JEq, asm.R1, 0, skip)
		c.Emit(asm.Or.Imm(asm.R8, flag))
		c.Place(skip)
	}
	c.Call(asm.FnGetCurrentTaskBtf)
	c.Emit(asm.LoadMem(asm.R9, asm.R0, int16(info+bits), asm.DWord))
	flag(asm.R9, 1<<host.LazyResched, flagLazy)
	flag(asm.R9, 1<<host.NeedResched, flagNeedResched)
	folded, stays := c.Label(), c.Label()
	c.IfImm(asm.JSet, asm.R8, flagNeedResched, folded)
	c.GoTo(stays)
	// Slow path: another CPU sets the task's flag first, and the count's follows.
	c.Place(folded)
	if !count {
		m.preemptCount()
		c.Emit(asm.Mov.Reg(asm.R7, asm.R0))
	}
	c.Emit(asm.Mov.Reg32(asm.R1, asm.R7), asm.RSh.Imm(asm.R1, 31))
	c.IfImm(asm.JNE, asm.R1, 0, stays) // PREEMPT_NEED_RESCHED is inverted
	c.Emit(asm.Or.Imm(asm.R8, flagPreempt))
	c.Place(stays)
	if count {
		flag(asm.R7, nmiBits, flagNMI)
		flag(asm.R7, hardIRQBits, flagHardIRQ)
		flag(asm.R7, servesSoftIRQ, flagSoftIRQ)
		flag(asm.R7, softIRQBits&^(2*servesSoftIRQ-1), flagBHOff)
		deep := c.Label()
		c.Emit(asm.And.Imm(asm.R7, preemptDepth))
		c.IfImm(asm.JLE, asm.R7, 0xf, deep)
		c.Emit(asm.Mov.Imm(asm.R7, 0xf))
		c.Place(deep)
		c.Emit(asm.LSh.Imm(asm.R7, sent.ContextPreempt-sent.ContextFlags), asm.Or.Reg(asm.R8, asm.R7))
	}
	c.Load(asm.R0, to)
	c.Emit(asm.LSh.Imm(asm.R8, sent.ContextFlags), asm.Or.Reg(asm.R0, asm.R8))
	c.Store(to, asm.R0)
}

// preemptCount leaves preempt_count() in R0. It is a variable of the CPU, whose
// address not all kernels show; but the task leads to another one of these, the run
// queue, and types tell how far they are apart. The verifier knows the types of what a
// task leads to, so that only the count itself needs a helper's call.
func (m *members) preemptCount() {
	c, host := m.hook.code, m.hook.host
	count, known := host.PerCPU("__preempt_count")
	queue, is := host.PerCPU("runqueues")
	if !known || !is {
		refuse("programs do not see the preemption count of this kernel, which lines show")
	}
	entity, hasEntity := host.Member("task_struct", "se")
	fair, hasFair := host.Member("sched_entity", "cfs_rq")
	back, hasBack := host.Member("cfs_rq", "rq")
	if !hasEntity || !hasFair || !hasBack {
		refuse("programs do not see the run queue of a task of this kernel, which lines show")
	}
	mark := c.Stack
	at := c.Alloc(8)
	c.Emit(assembler.StoreImm(asm.R10, at, 0))
	c.Call(asm.FnGetCurrentTaskBtf)
	c.Emit(asm.LoadMem(asm.R3, asm.R0, int16(entity+fair), asm.DWord),
		asm.LoadMem(asm.R3, asm.R3, int16(back), asm.DWord),
		asm.Add.Imm(asm.R3, int32(count-queue)), asm.Mov.Imm(asm.R2, 4))
	c.Addr(asm.R1, at)
	c.Call(asm.FnProbeReadKernel)
	c.Emit(asm.LoadMem(asm.R0, asm.R10, at, asm.Word))
	c.Stack = mark
}
