package hook

import (
	"cmp"
	"runtime"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file attaches programs to functions of the kernel through a trampoline (fentry,
// fexit) in place of a probe. The program then gets the arguments or the result, but no
// registers, so this is possible only if no other register is read. It cannot use the
// kernel's stack either, which would begin in the trampoline.

// A Direct is a function that calls the program through a trampoline, with the
// values that the program reads.
type Direct struct {
	Function string
	reads    []read
}

// read is an argument, or the result, that the program reads.
type read struct {
	register uint8
	arg      int // index; -1 for the result
	size     int
	at       int16 // on the stack
}

// arguments lists the registers in which the kernel's functions get their arguments,
// result is the register of their result: the numbers are the kernel's.
var (
	arguments = map[string][]uint8{
		"amd64": {5, 4, 3, 2, 16, 17}, "arm64": {0, 1, 2, 3, 4, 5, 6, 7},
	}[runtime.GOARCH]
	result = uint8(0)
)

// PickDirect decides whether the probed function can call the program through a
// trampoline, and sets Direct and Kind if so. stacked says that the event's stack is
// read, sends that the program sends records, during which it must not be preempted.
func (h *Hook) PickDirect(nodes []expr.Node, stacked, sends bool) bool {
	e := h.Event
	if e.Probe == nil || e.Probe.User || h.Host.Trampoline == nil || stacked && e.Stack.Kernel ||
		strings.ContainsAny(e.Schema.Name, "+: ") || sends && !h.canDisablePreemption() {
		return false
	}
	regs, sizes, ok := registersOf(nodes)
	if !ok {
		return false
	}
	f, ok := h.Host.Trampoline(e.Schema.Name)
	if !ok {
		return false
	}
	d := &Direct{Function: e.Schema.Name}
	for i, r := range regs {
		arg := slices.Index(arguments, r)
		switch {
		case e.Probe.Return && r == result && f.Returns:
			d.reads = append(d.reads, read{register: r, arg: -1, size: 8})
		case !e.Probe.Return && arg >= 0 && arg < len(f.Args) && sizes[i] <= f.Args[arg]:
			d.reads = append(d.reads, read{register: r, arg: arg, size: f.Args[arg]})
		default:
			return false
		}
	}
	h.Direct, h.Kind = d, ebpf.Tracing
	return true
}

// registersOf lists the registers that nodes read, and how many bytes of each: only a
// probe can read the bytes of a register beyond a shorter argument. ok is false if nodes
// read something else that only a probe has.
func registersOf(nodes []expr.Node) (regs []uint8, sizes []int, ok bool) {
	ok = true
	add := func(r uint8, size int) {
		i := slices.Index(regs, r)
		if i < 0 {
			i = len(regs)
			regs, sizes = append(regs, r), append(sizes, 0)
		}
		sizes[i] = max(sizes[i], size)
	}
	for _, n := range nodes {
		expr.Walk(n, func(n expr.Node) bool {
			f, is := n.(*expr.Field)
			if !is || f.Part.Past() {
				return ok
			}
			m := f.F.Member
			switch {
			case f.F.Name == "common_pid" || f.F.Place == event.InSlot:
			case f.F.Place != event.InMember || m == event.MemberIP:
				ok = false
			case m >= event.MemberReg && m < event.MemberArg:
				add(uint8(m-event.MemberReg), 8)
			case f.F.Operand() != nil:
				o := f.F.Operand()
				size := 8
				if len(o.Regs) == 1 && o.Load == 0 && o.Shift == 0 && o.Regs[0].Scale == 0 {
					size = cmp.Or(o.Size, f.F.Size)
				}
				for _, r := range o.Regs {
					add(r.Reg, size)
				}
			}
			return ok
		})
	}
	return regs, sizes, ok
}

// Arguments copies the values that the program reads to its stack. It must come before
// all other code; R6 is the context.
func (h *Hook) Arguments() {
	if h.Direct == nil {
		return
	}
	c := h.Code
	for i := range h.Direct.reads {
		r := &h.Direct.reads[i]
		r.at = c.Alloc(8)
		c.Zero(r.at, 8)
		c.Emit(asm.Mov.Reg(asm.R1, asm.R6))
		if r.arg < 0 {
			c.Addr(asm.R2, r.at)
			c.Call(asm.FnGetFuncRet)
			continue
		}
		// If the program loaded the argument from the context, the verifier would
		// treat it as an address and refuse to compute with it. The helper returns a
		// plain number.
		c.Emit(asm.Mov.Imm(asm.R2, int32(r.arg)))
		c.Addr(asm.R3, r.at)
		c.Call(asm.FnGetFuncArg)
	}
}

// directRegister reads a register of the function that Arguments has copied.
func (h *Hook) directRegister(dst asm.Register, r uint8) {
	for i := range h.Direct.reads {
		if a := &h.Direct.reads[i]; a.register == r {
			h.Code.Load(dst, a.at)
			// The bytes beyond a shorter argument are not always copied.
			h.Code.Extend(dst, 8*a.size, false)
			return
		}
	}
	panic("BUG: an argument that was not foreseen")
}

// OfProbe reports that the program belongs to a probe: there is no record.
func (h *Hook) OfProbe() bool { return h.Kind == ebpf.Kprobe || h.Direct != nil }
