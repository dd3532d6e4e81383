package bpf

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/bpf/ptregs"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file is about probes: what their programs are called with, and where the
// fields of their events are. The context is the registers, struct pt_regs; there is
// no record.

// A Probe says that an event is a probe: in a program or in the kernel, at a return
// or not.
type Probe struct{ User, Return bool }

// register reads a register of the context: those of a probe, or of a sample.
func (h *hook) register(dst asm.Register, name string, r uint8) {
	if h.kind != ebpf.Kprobe && h.kind != ebpf.PerfEvent {
		refuse("%s is a register, which the program of %s does not have", name, h.source.Label)
	}
	if int(r) >= len(ptregs.At) || ptregs.At[r] < 0 {
		refuse("%s is a register that programs do not have", name)
	}
	h.code.Emit(asm.LoadMem(dst, asm.R6, ptregs.At[r], asm.DWord))
}

// probeField reads a field of the record that the kernel would write for a probe.
func (h *hook) probeField(dst asm.Register, f *event.Field) {
	p := h.source.Probe
	if p.User && (f.Name == "ip" && !p.Return || f.Name == "ret_ip") {
		h.register(dst, f.Name, ptregs.IP)
		return
	}
	refuse("field %s of %s: programs do not have it", f.Name, h.source.Label)
}

// operand leaves in dst what an operand says, without its memory; no other register
// changes, but R0 if dst is another.
func (h *hook) operand(dst asm.Register, name string, o *event.Operand) {
	c := h.code
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
		h.register(to, name, r.Reg)
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

// inMemory reports that a field is a number in the memory of a process, which is read
// before anything is computed.
func inMemory(f *event.Field) bool {
	return f.Place == event.InMember && f.Operand() != nil && f.Operand().Load > 0
}

// fetchOperands reads the arguments of a probe that lie in memory, each to two words:
// the number, and whether it could not be read. Who needs the number fails then.
func (m *members) fetchOperands(nodes []expr.Node) {
	c := m.hook.code
	for _, n := range nodes {
		expr.Walk(n, func(n expr.Node) bool {
			f, ok := n.(*expr.Field)
			if !ok || f.Part == expr.Start || !inMemory(f.F) {
				return true
			}
			if _, have := m.operands[f.F.Member]; have {
				return true
			}
			at := c.Alloc(16)
			if m.operands == nil {
				m.operands = map[event.Member]int16{}
			}
			m.operands[f.F.Member] = at
			c.Zero(at, 16)
			m.hook.operand(asm.R3, f.F.Name, f.F.Operand())
			c.Addr(asm.R1, at)
			c.Emit(asm.Mov.Imm(asm.R2, int32(f.F.Operand().Load)))
			c.Call(asm.FnProbeReadUser)
			c.Store(at+8, asm.R0)
			return true
		})
	}
}

// arguments evaluates the arguments of a probe.
type arguments struct{ *eval }

// number reads a number.
func (e arguments) number(dst asm.Register, f *event.Field) {
	c, o := e.code, f.Operand()
	switch {
	case o == nil:
		refuse("field %s is computed of a sample", f.Name)
	case f.Kind != event.Int:
		refuse("field %s is not a number", f.Name)
	case o.Load > 0:
		at, ok := e.members.operands[f.Member]
		if !ok {
			panic("BUG: field " + f.Name + " was not fetched")
		}
		c.Load(dst, at+8)
		c.IfImm(asm.JNE, dst, 0, e.fail)
		c.Load(dst, at)
	default:
		e.hook.operand(dst, f.Name, o)
	}
	if o.Shift > 0 {
		c.Emit(asm.RSh.Imm(dst, int32(o.Shift)))
	}
	if o.Size > 0 {
		c.Extend(dst, 8*o.Size, o.Signed)
	}
	c.Extend(dst, 8*f.Size, f.Signed)
}

// textAt puts a text of a probe at off: a constant, or the text of the process
// that an argument points to.
func (e arguments) textAt(off int16, size int, f *event.Field) {
	c, o := e.code, f.Operand()
	if o.Constant() {
		e.text(off, size, &expr.Const{T: expr.Type{Kind: expr.Str}, Str: o.Text})
		return
	}
	if len(o.Texts) > 0 {
		e.placeText(off, size, o.Texts)
		return
	}
	done := c.Label()
	if o.Load > 0 {
		at := e.members.operands[f.Member]
		c.Load(asm.R3, at+8)
		c.IfImm(asm.JNE, asm.R3, 0, e.fail)
		c.Load(asm.R3, at)
	} else {
		e.hook.operand(asm.R3, f.Name, o)
	}
	c.Zero(off, size)
	c.IfImm(asm.JEq, asm.R3, 0, done)
	c.Addr(asm.R1, off)
	c.ReadUser(asm.R10, off)
	c.Place(done)
}

// argumentRoom is the room that a text of a probe needs.
func argumentRoom(f *event.Field) int {
	switch o := f.Operand(); {
	case o == nil:
		refuse("field %s is a text that is made in ppscript", f.Name)
	case len(o.Texts) > 0:
		return textsRoom(o.Texts)
	case o.Constant():
		return pad(len(o.Text) + 1)
	}
	return userRoom
}

// alone has nobody else run the program on its CPU until the end of it, which the
// function that it returns generates. Programs in user code can be preempted from 6.0
// on: another thread could come to the row that this one is about to write. Where
// preemption cannot be disabled, who comes second is left out, and counted.
func (h *hook) alone(g *gate, exit label) (end func()) {
	if h.source.Probe == nil || !h.source.Probe.User || !h.host.Preempted {
		return func() {}
	}
	if on, ok := h.preemption(); ok {
		return on
	}
	c := h.code
	first := c.Label()
	at := c.Alloc(8)
	c.Zero(at, 8)
	c.Get(load.BusyMap.Of(h.index), at, exit)
	c.Store(at, asm.R0)
	c.Emit(asm.Mov.Imm(asm.R1, 1), assembler.Exchange(asm.FetchAdd, asm.R0, asm.R1, 0))
	c.IfImm(asm.JEq, asm.R1, 0, first)
	g.count(load.StatLost)
	h.leave(at)
	c.GoTo(exit)
	c.Place(first)
	return func() { h.leave(at) }
}

// leave says that the program is done with the CPU.
func (h *hook) leave(at int16) {
	c := h.code
	c.Load(asm.R0, at)
	c.Emit(asm.Mov.Imm(asm.R1, -1), asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 0))
}
