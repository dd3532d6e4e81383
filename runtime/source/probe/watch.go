package probe

import (
	"debug/elf"
	"encoding/binary"
	"fmt"

	"golang.org/x/arch/x86/x86asm"

	"ppscript/runtime/event"
)

// This file finds the value that a write has stored in watched memory.
//
// The CPU reports the address and the time of an access, but not the value. The
// memory is read some time after the trap; if the program writes often, it
// already has a later value. So the instruction before the trap is decoded
// first: a plain store has its value in a sampled register, or as a constant in
// the instruction. For other instructions (inc, add to memory, copying) and on
// other machines, the memory is read, and the value is the one at the time of
// reading.

// A watch is an open breakpoint.
type watch struct {
	addr   uint64
	size   int
	typ    uint32
	label  string
	kernel KernelSymbols
	place  func(dst []byte, e *event.Event, ip uint64) []byte
	core   *kernelMemory

	// The last event whose value was found, so that a filter and a line use the
	// same value.
	time  event.Time
	tid   int32
	last  uint64
	known bool
	valid bool
}

// value returns the value of the field "data".
func (w *watch) value(e *event.Event) (uint64, bool) {
	if w.known && e.Time == w.time && e.TID == w.tid {
		return w.last, w.valid
	}
	w.last, w.valid = w.decode(e)
	if !w.valid {
		w.last, w.valid = w.read(e)
	}
	w.known, w.time, w.tid = true, e.Time, e.TID
	return w.last, w.valid
}

// read reads the present content of the watched memory.
func (w *watch) read(e *event.Event) (uint64, bool) {
	var buf [8]byte
	if w.addr >= kernelHalf {
		if !w.core.read(buf[:w.size], w.addr) {
			return 0, false
		}
	} else if !readMemory(e, buf[:w.size], w.addr) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(buf[:]), true
}

// decode finds the value in the instruction before ip.
func (w *watch) decode(e *event.Event) (uint64, bool) {
	if hostMachine() != elf.EM_X86_64 || w.typ&hwW == 0 || e.Stream == nil || e.Stream.Members == nil {
		return 0, false
	}
	ip := w.ip(e)
	if ip < x86MaxInstruction {
		return 0, false
	}
	var code [x86MaxInstruction]byte
	start := ip - x86MaxInstruction
	if ip >= kernelHalf {
		if !w.core.read(code[:], start) {
			return 0, false
		}
	} else if !readMemory(e, code[:], start) {
		return 0, false
	}
	// Instructions cannot be decoded backwards. So each possible start is
	// tried, until an instruction stores to the watched address.
	for n := 2; n <= x86MaxInstruction; n++ {
		inst, err := x86asm.Decode(code[x86MaxInstruction-n:], 64)
		if err != nil || inst.Len != n {
			continue
		}
		if v, ok := w.stored(e, &inst, ip); ok {
			return v, true
		}
	}
	return 0, false
}

// stored returns the value of a plain store that covers the watched bytes.
func (w *watch) stored(e *event.Event, inst *x86asm.Inst, ip uint64) (uint64, bool) {
	switch inst.Op {
	case x86asm.MOV, x86asm.MOVNTI, x86asm.MOVBE:
	default:
		return 0, false
	}
	mem, ok := inst.Args[0].(x86asm.Mem)
	if !ok || inst.Op == x86asm.MOVBE {
		return 0, false
	}
	at, ok := effective(e, mem, ip)
	if !ok || at > w.addr || at+uint64(inst.MemBytes) < w.addr+uint64(w.size) {
		return 0, false
	}
	var v uint64
	switch src := inst.Args[1].(type) {
	case x86asm.Imm:
		v = uint64(int64(src))
	case x86asm.Reg:
		p, ok := asmRegister(src)
		if !ok {
			return 0, false
		}
		r, ok := e.Stream.Members.Member(e, event.MemberReg+event.Member(p.num))
		if !ok {
			return 0, false
		}
		v = r >> p.shift
	default:
		return 0, false
	}
	return v >> (8 * (w.addr - at)), true
}

// effective computes the address of a memory operand.
func effective(e *event.Event, m x86asm.Mem, ip uint64) (uint64, bool) {
	if m.Segment != 0 && m.Segment != x86asm.DS && m.Segment != x86asm.SS && m.Segment != x86asm.ES &&
		m.Segment != x86asm.CS {
		return 0, false // per-CPU and thread-local data: the base is not sampled
	}
	addr := uint64(m.Disp)
	for i, r := range []x86asm.Reg{m.Base, m.Index} {
		if r == 0 {
			continue
		}
		if r == x86asm.RIP {
			addr += ip
			continue
		}
		p, ok := asmRegister(r)
		if !ok || p.width != 8 {
			return 0, false
		}
		v, ok := e.Stream.Members.Member(e, event.MemberReg+event.Member(p.num))
		if !ok {
			return 0, false
		}
		if i == 1 {
			v *= uint64(m.Scale)
		}
		addr += v
	}
	return addr, true
}

// asmOrder has the kernel's numbers of registers in the order of the
// instruction encoding: ax cx dx bx sp bp si di r8 ... r15.
var asmOrder = [...]uint8{0, 2, 3, 1, 7, 6, 4, 5, 16, 17, 18, 19, 20, 21, 22, 23}

func asmRegister(r x86asm.Reg) (part, bool) {
	switch {
	case r >= x86asm.RAX && r <= x86asm.R15:
		return part{asmOrder[r-x86asm.RAX], 0, 8}, true
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return part{asmOrder[r-x86asm.EAX], 0, 4}, true
	case r >= x86asm.AX && r <= x86asm.R15W:
		return part{asmOrder[r-x86asm.AX], 0, 2}, true
	case r >= x86asm.AL && r <= x86asm.BL:
		return part{asmOrder[r-x86asm.AL], 0, 1}, true
	case r >= x86asm.AH && r <= x86asm.BH:
		return part{asmOrder[r-x86asm.AH], 8, 1}, true
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return part{asmOrder[r-x86asm.SPB+4], 0, 1}, true
	}
	return part{}, false
}

// A regName is the kernel's number of a register and its name in the block that
// perf-prof prints.
type regName struct {
	num  uint8
	name string
}

// registerNames lists the registers that exist as fields and are sampled for the
// block.
func registerNames(m elf.Machine) []regName {
	var names []regName
	if m == elf.EM_AARCH64 {
		for i := uint8(0); i < 31; i++ {
			names = append(names, regName{i, fmt.Sprintf("x%d", i)})
		}
		return append(names, regName{arm64SP, "sp"}, regName{arm64PC, "pc"})
	}
	for i, n := range amd64Names {
		names = append(names, regName{uint8(i), "r" + n})
	}
	names = append(names, regName{9, "rflags"}, regName{10, "cs"}, regName{11, "ss"})
	for i := uint8(0); i < 8; i++ {
		names = append(names, regName{16 + i, fmt.Sprintf("r%d", 8+i)})
	}
	return names
}

// block has the registers of perf-prof's block, by lines.
var block = [][]regName{
	{{8, "RIP"}, {7, "RSP"}, {9, "RFLAGS"}},
	{{0, "RAX"}, {1, "RBX"}, {2, "RCX"}},
	{{3, "RDX"}, {4, "RSI"}, {5, "RDI"}},
	{{6, "RBP"}, {16, "R08"}, {17, "R09"}},
	{{18, "R10"}, {19, "R11"}, {20, "R12"}},
	{{21, "R13"}, {22, "R14"}, {23, "R15"}},
	{{10, "CS"}, {11, "SS"}},
}

// AppendRegisters appends the registers of an event as a block of lines
// without the last line end; nothing if they were not sampled.
func AppendRegisters(dst []byte, e *event.Event) []byte {
	if e.Stream == nil || e.Stream.Members == nil {
		return dst
	}
	lines := block
	if hostMachine() == elf.EM_AARCH64 {
		lines = nil
		all := registerNames(elf.EM_AARCH64)
		for ; len(all) > 0; all = all[min(3, len(all)):] {
			lines = append(lines, all[:min(3, len(all))])
		}
	}
	start := len(dst)
	for _, line := range lines {
		for i, r := range line {
			v, ok := e.Stream.Members.Member(e, event.MemberReg+event.Member(r.num))
			if !ok {
				return dst[:start]
			}
			switch {
			case i > 0:
				dst = append(dst, ' ')
			case len(dst) > start:
				dst = append(dst, '\n')
			}
			switch {
			case r.name == "RFLAGS":
				dst = fmt.Appendf(dst, "%s:%08x", r.name, v)
			case r.name == "CS" || r.name == "SS":
				dst = fmt.Appendf(dst, "%s: %04x", r.name, v)
			default:
				dst = fmt.Appendf(dst, "%s: %016x", r.name, v)
			}
		}
	}
	return dst
}
