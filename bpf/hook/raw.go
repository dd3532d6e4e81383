package hook

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file reads the fields of raw tracepoints, which are arguments of the kernel's
// trace call (rawpoint.go).

// PickRaw decides whether the program can be on the raw tracepoint, and sets
// Raw and Kind if so: every field that nodes read must be known by argument.
// Without BTF, structures cannot be read. stacked says that the event's stack
// is read.
func (h *Hook) PickRaw(nodes []expr.Node, stacked bool) {
	e := h.Event
	if h.Host.AsRaw {
		h.Kind = ebpf.RawTracepoint
		return
	}
	if e.Sampled || e.Probe != nil || stacked && e.Stack.Kernel {
		// The kernel's stack must begin where the record is made, without
		// frames of the program itself.
		return
	}
	p, asks := RawPointOf(e.Schema.FullName()), asksArguments(nodes)
	if p == nil && asks {
		p = &RawPoint{Name: e.Schema.Name}
	}
	if p == nil || !h.Host.Raw(p.Name, asks) {
		return
	}
	typ := ebpf.RawTracepoint
	ok := true
	for _, n := range nodes {
		expr.Walk(n, func(n expr.Node) bool {
			if _, array := n.(*expr.Mem); array {
				ok = false
			}
			f, is := n.(*expr.Field)
			if !is || f.F.Place == event.InMember || f.F.Place == event.InSlot || f.F.Name == "common_pid" ||
				f.Part.Past() {
				return ok
			}
			known, have := p.Fields[f.F.Own().Name]
			ok = ok && have && f.View == expr.ViewValue &&
				(f.F.Kind == event.Int || known.Text && f.F.Kind == event.Str ||
					known.Words != nil && f.F.Kind == event.Array)
			if have && known.Words != nil && !h.Host.Tells32() {
				ok = false
			}
			if have && known.Deref {
				if _, has := h.member(known); !has {
					ok = false
				}
				typ = ebpf.Tracing
			}
			return ok
		})
	}
	if ok {
		h.Raw, h.Kind = p, typ
	}
}

// member finds the offset of a field in the structure of an argument.
func (h *Hook) member(f RawField) (at int, ok bool) {
	at, ok = h.Host.Member(f.Type, f.Member)
	if f.Inner != "" && ok {
		var inner int
		inner, ok = h.Host.Member(f.Inner, f.Of)
		at += inner
	}
	return at, ok
}

// rawText copies a text of a structure to off.
func (h *Hook) rawText(off int16, name string) {
	c := h.Code
	f := h.Raw.Fields[name]
	at, _ := h.member(f)
	c.Emit(asm.LoadMem(asm.R3, asm.R6, int16(8*f.Arg), asm.DWord), asm.Add.Imm(asm.R3, int32(at)))
	c.Addr(asm.R1, off)
	c.Emit(asm.Mov.Imm(asm.R2, int32(f.Size+1)))
	c.Call(asm.FnProbeReadKernelStr)
}

// RawField reads a field from the arguments into dst.
func (h *Hook) RawField(dst asm.Register, field *event.Field) {
	c := h.Code
	f, ok := h.Raw.Fields[field.Own().Name]
	if !ok {
		assembler.Refuse("BUG: field %s of a raw tracepoint", field.Name)
	}
	if f.Words != nil {
		i := field.Offset - field.Own().Offset
		h.rawWords(f, i/8, 1, func(int) {})
		if dst != asm.R0 {
			c.Emit(asm.Mov.Reg(dst, asm.R0))
		}
		return
	}
	base, off := asm.R6, 8*f.Arg
	if f.Deref {
		c.Emit(asm.LoadMem(dst, base, int16(off), asm.DWord))
		at, _ := h.member(f)
		c.Emit(asm.LoadMem(dst, dst, int16(at), Sizes[f.Size]))
		if f.Signed {
			c.Extend(dst, 8*f.Size, true)
		}
		return
	}
	// Arguments have 64 bits here, but their upper bits do not extend the sign.
	c.Emit(asm.LoadMem(dst, base, int16(off), asm.DWord))
	c.Extend(dst, 8*f.Size, f.Signed)
}

// rawWords reads n elements of an array of members into R0, from element first on,
// each followed by the code of take. It overwrites R1 to R5.
func (h *Hook) rawWords(f RawField, first, n int, take func(i int)) {
	c := h.Code
	info, status, ok := h.Host.Status()
	if !ok {
		assembler.Refuse("arguments of system calls: programs cannot tell tasks of 32 bits")
	}
	small, end := c.Label(), c.Label()
	c.Call(asm.FnGetCurrentTaskBtf)
	c.Emit(asm.LoadMem(asm.R2, asm.R0, int16(info+status), asm.Word), asm.And.Imm(asm.R2, compatStatus),
		asm.LoadMem(asm.R1, asm.R6, int16(8*f.Arg), asm.DWord))
	c.IfImm(asm.JNE, asm.R2, 0, small)
	words := func(members []string, size asm.Size) {
		for i, m := range members[first : first+n] {
			at, ok := h.Host.Member(f.Type, m)
			if !ok {
				assembler.Refuse("the kernel's types do not show %s.%s", f.Type, m)
			}
			c.Emit(asm.LoadMem(asm.R0, asm.R1, int16(at), size))
			take(i)
		}
	}
	words(f.Words, asm.DWord)
	c.GoTo(end)
	c.Place(small)
	words(f.Compat, asm.Word)
	c.Place(end)
}

// compatStatus is TS_COMPAT of arch/x86/include/asm/thread_info.h: the running
// system call is a 32-bit one.
const compatStatus = 2

// asksArguments reports that nodes read arguments of the tracepoint.
func asksArguments(nodes []expr.Node) bool {
	found := false
	for _, n := range nodes {
		expr.Walk(n, func(n expr.Node) bool {
			_, arg := n.(*expr.TraceArg)
			found = found || arg
			return !found
		})
	}
	return found
}
