package hook

import (
	"runtime"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file reads the context of a probe's program: the registers, struct
// pt_regs. There is no record.

// Register reads a register of the context of a probe or a sample.
func (h *Hook) Register(dst asm.Register, name string, r uint8) {
	if h.Direct != nil {
		h.directRegister(dst, r)
		return
	}
	if h.Kind != ebpf.Kprobe && h.Kind != ebpf.PerfEvent {
		assembler.Refuse("%s is a register, which the program of %s does not have", name, h.Event.Label)
	}
	if int(r) >= len(registerAt) || registerAt[r] < 0 {
		assembler.Refuse("%s is a register that programs do not have", name)
	}
	h.Code.Emit(asm.LoadMem(dst, asm.R6, registerAt[r], asm.DWord))
}

// ProbeField computes a field of the record that the kernel would write for a
// probe.
func (h *Hook) ProbeField(dst asm.Register, f *event.Field) {
	p := h.Event.Probe
	switch {
	case p.User && (f.Name == "ip" && !p.Return || f.Name == "ret_ip"):
		h.Register(dst, f.Name, instructionPointer)
		return
	case !p.User && !p.Return && f.Name == "ip" && h.Kind == ebpf.Kprobe:
		// For all its probes the kernel sets the registers as if a breakpoint
		// instruction had been executed.
		h.Register(dst, f.Name, instructionPointer)
		if runtime.GOARCH == "amd64" {
			h.Code.Emit(asm.Sub.Imm(dst, 1))
		}
		return
	case !p.User && p.Return && f.Name == "ret_ip" && h.Kind == ebpf.Kprobe && h.Host.TellsFunction:
		h.Register(dst, f.Name, instructionPointer)
		return
	}
	assembler.Refuse("field %s of %s: programs do not have it", f.Name, h.Event.Label)
}

// Operand leaves in dst the value of an operand, or its address if it lies in
// memory. Only dst and R0 change.
func (h *Hook) Operand(dst asm.Register, name string, o *event.Operand) {
	c := h.Code
	switch {
	case len(o.Regs) > 1 && dst == asm.R0:
		panic("BUG: an operand of two registers in R0")
	case len(o.Regs) == 0:
		c.Constant(dst, o.Value)
		return
	}
	for i, r := range o.Regs {
		to := dst
		if i > 0 {
			to = asm.R0
		}
		h.Register(to, name, r.Reg)
		if r.Scale > 0 {
			c.Emit(asm.LSh.Imm(to, int32(r.Scale)))
		}
		if i > 0 {
			c.Emit(asm.Add.Reg(dst, to))
		}
	}
	if o.Value == int64(int32(o.Value)) {
		if o.Value != 0 {
			c.Emit(asm.Add.Imm(dst, int32(o.Value)))
		}
		return
	}
	c.Constant(asm.R0, o.Value)
	c.Emit(asm.Add.Reg(dst, asm.R0))
}

// inMemory reports that a field is an argument in memory, which is read before any
// expression.
func inMemory(f *event.Field) bool {
	return f.Place == event.InMember && f.Operand() != nil && f.Operand().Load > 0
}

// fetchOperands reads the arguments of a probe that lie in memory, each to two words: the
// number, and the error, 0 if it could be read. An expression that needs an unreadable number
// fails.
func (m *Members) fetchOperands(nodes []expr.Node) {
	c := m.hook.Code
	for _, n := range nodes {
		expr.Walk(n, func(n expr.Node) bool {
			f, ok := n.(*expr.Field)
			if ok && !f.Part.Past() && m.hook.tellsFunction(f.F) && m.function == 0 {
				m.fetchFunction()
			}
			if !ok || f.Part.Past() || !inMemory(f.F) {
				return true
			}
			if _, have := m.Operands[f.F.Member]; have {
				return true
			}
			at := c.Alloc(16)
			if m.Operands == nil {
				m.Operands = map[event.Member]int16{}
			}
			m.Operands[f.F.Member] = at
			c.Zero(at, 16)
			m.hook.Operand(asm.R3, f.F.Name, f.F.Operand())
			c.Addr(asm.R1, at)
			c.Emit(asm.Mov.Imm(asm.R2, int32(f.F.Operand().Load)))
			// Only a watched variable has a constant address, which may be in the kernel.
			if o := f.F.Operand(); len(o.Regs) == 0 && o.Value < 0 {
				c.Call(asm.FnProbeReadKernel)
			} else {
				c.Call(asm.FnProbeReadUser)
			}
			c.Store(at+8, asm.R0)
			return true
		})
	}
}

// tellsFunction reports that a field is the address of the probed function and that the
// program must call a helper to get it. That is so for returns, and for programs that
// one link attaches to many functions, since their registers are not those of a
// breakpoint.
func (h *Hook) tellsFunction(f *event.Field) bool {
	if h.Event == nil || h.Event.Probe == nil || !h.Event.Probe.Return && (h.Event.Probe.User || !h.Linked) {
		return false
	}
	tells := h.Host.TellsFunction
	if h.Event.Probe.User {
		tells = h.Host.UprobeMulti // came with 6.6, as did the helper
	}
	return tells && h.Kind == ebpf.Kprobe && f.Place == event.InRaw && f.Name == "ip"
}

// endbr lists ENDBR64, with which functions of x86 may begin, and the instructions with which
// kernels of several ages replace it if no indirect jump leads to the function (gen_endbr_poison
// in asm/ibt.h). The helper returns the begin of the function; probes and their records have the
// address behind ENDBR64.
var endbr = []int64{0xfa1e0ff3, 0x001f0f66, 0xd6401f0f, 0x001f0ff5}

// fetchFunction fetches the address of the probed function.
func (m *Members) fetchFunction() {
	c := m.hook.Code
	m.function = c.Alloc(8)
	c.Emit(asm.Mov.Reg(asm.R1, asm.R6))
	c.Call(asm.FnGetFuncIp)
	c.Store(m.function, asm.R0)
	if m.hook.Event.Probe.User || runtime.GOARCH != "amd64" {
		return
	}
	mark := c.Stack
	first, behind, plain := c.Alloc(8), c.Label(), c.Label()
	c.Zero(first, 8)
	c.Addr(asm.R1, first)
	c.Emit(asm.Mov.Imm(asm.R2, 4), asm.Mov.Reg(asm.R3, asm.R0))
	c.Call(asm.FnProbeReadKernel)
	c.Load(asm.R0, first)
	for _, code := range endbr {
		c.Constant(asm.R1, code)
		c.IfReg(asm.JEq, asm.R0, asm.R1, behind)
	}
	c.GoTo(plain)
	c.Place(behind)
	c.Load(asm.R0, m.function)
	c.Emit(asm.Add.Imm(asm.R0, 4))
	c.Store(m.function, asm.R0)
	c.Place(plain)
	c.Stack = mark
}

// Function is the place of the probed function's address if n reads it and it was fetched; else
// 0.
func (m *Members) Function(n *expr.Field) int16 {
	if m.function == 0 || n.Part.Past() || !m.hook.tellsFunction(n.F) {
		return 0
	}
	return m.function
}
