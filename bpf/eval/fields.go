package eval

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/hook"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file reads integer fields: of the record, whose bytes the program gets
// as its context; of the arguments of a raw tracepoint; of the current task;
// of the start of a pair, which were saved when it came.

// Field reads n into dst. Other registers change only for elements of arrays of raw
// tracepoints and for reads of the kernel's memory.
func (e *Eval) Field(dst asm.Register, n *expr.Field) {
	c := e.Code
	if at, _ := e.Env.saved(n); at != 0 {
		c.Load(dst, at)
		return
	}
	if in, own, ok := e.Env.ofEnd(n); ok {
		outer := e.Env
		e.Env = in
		e.Field(dst, own)
		e.Env = outer
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
		e.Hook.Locator(dst, n)
		return
	default:
		assembler.Refuse("the bytes of field %s", f.Name)
	}
	if f.Place == event.InMember {
		e.member(dst, n)
		return
	}
	if at, _ := e.Env.slot(n); at != 0 {
		c.Load(dst, at)
		return
	}
	if f.Place == event.InSlot && e.Env.isKey(n) {
		if j := e.Env.Pair.Join; len(j.Cols) != 1 || j.Cols[0].Text {
			assembler.Refuse("field key is no number")
		}
		c.Load(dst, e.Env.Pair.Key)
		return
	}
	if at := e.Env.called(n); at != 0 {
		c.Load(dst, at)
		return
	}
	if f.Kind != event.Int {
		assembler.Refuse("field %s is not a number", f.Name)
	}
	if f.Name == "common_pid" && f.Size == 4 {
		c.Emit(asm.LoadMem(dst, asm.R10, e.Members.PidTgid(), asm.Word))
		return
	}
	if e.Hook.Raw != nil {
		e.Hook.RawField(dst, f)
		return
	}
	if at := e.Members.Function(n); at != 0 {
		c.Load(dst, at)
		return
	}
	if e.Hook.OfProbe() {
		e.Hook.ProbeField(dst, f)
		return
	}
	if f.Place != event.InRaw || e.Hook.Kind == ebpf.PerfEvent {
		assembler.Refuse("field %s is not in the record", f.Name)
	}
	e.Hook.Record(dst, f.Offset, f.Size, f.Signed)
}

// member reads a sample member: of the pair, or as the program fetched it.
func (e *Eval) member(dst asm.Register, n *expr.Field) {
	switch n.F.Member {
	case event.MemberDelay:
		if e.Env.Pair == nil || n.Part != expr.Self {
			assembler.Refuse("delay of what is not a pair")
		}
		e.Code.Load(dst, e.Env.Pair.Delay)
	case event.MemberCallchain:
		e.heldStack(dst, n)
	case event.MemberPeriod:
		e.Hook.Period(dst)
	case event.MemberTime:
		if e.Members.Time() == 0 {
			assembler.Refuse("a time in a filter: the kernel's programs have another clock than perf")
		}
		e.Code.Load(dst, e.Members.Time())
	default:
		if n.F.Member.OfProbe() {
			e.Arguments().Number(dst, n.F)
			return
		}
		e.Members.Read(dst, n.F)
	}
}

// readField reads a field that is a read of the kernel's memory into dst; the
// other registers change.
func (e *Eval) readField(dst asm.Register, read expr.Node) {
	e.Num(read)
	if dst != asm.R0 {
		e.Code.Emit(asm.Mov.Reg(dst, asm.R0))
	}
}

// Arguments reads arguments of a probe.
func (e *Eval) Arguments() hook.Arguments {
	return hook.Arguments{Code: e.Code, Hook: e.Hook, Members: e.Members, Fail: e.Fail}
}
