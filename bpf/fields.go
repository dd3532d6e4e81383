package bpf

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/eval"
	"ppscript/bpf/hook"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file reads integer fields: of the record, whose bytes the program gets
// as its context; of the arguments of a raw tracepoint; of the current task;
// of the start of a pair, which were saved when it came.

// field reads n into dst, and no other register changes, but for elements of arrays
// of raw tracepoints and reads of the kernel's memory.
func (e *evaluator) field(dst asm.Register, n *expr.Field) {
	c := e.code
	if at, _ := e.env.saved(n); at != 0 {
		c.Load(dst, at)
		return
	}
	if in, own, ok := e.env.ofEnd(n); ok {
		outer := e.env
		e.env = in
		e.field(dst, own)
		e.env = outer
		return
	}
	f := n.F
	if read := expr.ReadOf(f); read != nil {
		e.readField(dst, read)
		return
	}
	switch n.View {
	case expr.ViewValue:
	case expr.ViewOffset, expr.ViewLen:
		e.hook.Locator(dst, n)
		return
	default:
		refuse("the bytes of field %s", f.Name)
	}
	if f.Place == event.InMember {
		e.member(dst, n)
		return
	}
	if at, _ := e.env.slot(n); at != 0 {
		c.Load(dst, at)
		return
	}
	if f.Place == event.InSlot && e.env.isKey(n) {
		if j := e.env.pair.join; len(j.cols) != 1 || j.cols[0].Text {
			refuse("field key is no number")
		}
		c.Load(dst, e.env.pair.key)
		return
	}
	if at := e.env.called(n); at != 0 {
		c.Load(dst, at)
		return
	}
	if f.Kind != event.Int {
		refuse("field %s is not a number", f.Name)
	}
	if f.Name == "common_pid" && f.Size == 4 {
		c.Emit(asm.LoadMem(dst, asm.R10, e.members.PidTgid(), asm.Word))
		return
	}
	if e.hook.Raw != nil {
		e.hook.RawField(dst, f)
		return
	}
	if at := e.members.Function(n); at != 0 {
		c.Load(dst, at)
		return
	}
	if e.hook.OfProbe() {
		e.hook.ProbeField(dst, f)
		return
	}
	if f.Place != event.InRaw || e.hook.Kind == ebpf.PerfEvent {
		refuse("field %s is not in the record", f.Name)
	}
	e.hook.Record(dst, f.Offset, f.Size, f.Signed)
}

// member reads a sample member: of the pair, or as the program fetched it.
func (e *evaluator) member(dst asm.Register, n *expr.Field) {
	switch n.F.Member {
	case event.MemberDelay:
		if e.env.pair == nil || n.Part != expr.Self {
			refuse("delay of what is not a pair")
		}
		e.code.Load(dst, e.env.pair.delay)
	case event.MemberCallchain:
		e.heldStack(dst, n)
	case event.MemberPeriod:
		e.hook.Period(dst)
	case event.MemberTime:
		if e.members.Time() == 0 {
			refuse("a time in a filter: the kernel's programs have another clock than perf")
		}
		e.code.Load(dst, e.members.Time())
	default:
		if n.F.Member.OfProbe() {
			e.arguments().Number(dst, n.F)
			return
		}
		e.members.Read(dst, n.F)
	}
}

// readField reads a field that stands for a read into dst; the other registers
// change.
func (e *evaluator) readField(dst asm.Register, read expr.Node) {
	e.num(read)
	if dst != asm.R0 {
		e.code.Emit(asm.Mov.Reg(dst, asm.R0))
	}
}

// arguments reads those of a probe.
func (e *evaluator) arguments() hook.Arguments {
	return hook.Arguments{Code: e.code, Hook: e.hook, Members: e.members, Fail: e.fail,
		Constant: func(off int16, size int, n *expr.Const) { e.text(off, size, n) }}
}

// reader reads the kernel's memory.
func (e *evaluator) reader() eval.KernelReader {
	return eval.KernelReader{Code: e.code, Hook: e.hook, Num: e.num, Fail: e.fail}
}
