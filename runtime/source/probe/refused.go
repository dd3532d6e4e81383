package probe

import (
	"debug/elf"
	"encoding/binary"
	"fmt"

	"golang.org/x/arch/x86/x86asm"

	"ppscript/runtime/system/kernel"
)

// This file finds instructions on which the kernel accepts no uprobe. The kernel executes a copy
// of the probed instruction elsewhere, or emulates it, and refuses instructions for which it can
// do neither. It inserts probes when a process maps the file; a refusal at that time is not
// reported, and the probe would just count nothing.
//
// The refused instructions differ between versions (arch/x86/kernel/uprobes.c: prefixes LOCK, CS,
// DS, ES and SS, input and output, traps). So a probe is tried, which takes a millisecond, but only
// for instructions that some version may refuse.

// refused returns the error with which the kernel refuses a probe on the instruction at an address;
// nil if it accepts the probe, or if that cannot be found out.
func (m *image) refused(pmu uint32, addr, off uint64) error {
	if m.file == nil || !mayBeRefused(m.Machine, m.Bytes(addr, x86MaxInstruction)) {
		return nil
	}
	if err := kernel.RefusesUprobe(pmu, m.file, m.path, off); err != nil {
		return fmt.Errorf("the kernel refuses probes of the instruction there, %s: %w",
			m.instruction(addr), err)
	}
	return nil
}

// instruction describes the instruction at an address, for messages.
func (m *image) instruction(addr uint64) string {
	code := m.Bytes(addr, x86MaxInstruction)
	if m.Machine == elf.EM_X86_64 {
		if inst, err := x86asm.Decode(code, 64); err == nil {
			return fmt.Sprintf("%q", x86asm.GNUSyntax(inst, addr, nil))
		}
	}
	return fmt.Sprintf("of bytes % x", code[:min(4, len(code))])
}

// mayBeRefused reports that some kernel may refuse the instruction that code begins with.
func mayBeRefused(machine elf.Machine, code []byte) bool {
	switch machine {
	case elf.EM_X86_64:
		if len(code) >= 4 && int(binary.LittleEndian.Uint32(code)) == endbr64 {
			return false
		}
		for i, c := range code {
			switch {
			case c == 0xf0, c == 0x26, c == 0x2e, c == 0x36, c == 0x3e: // LOCK and segments
				return true
			case c == 0xc4, c == 0xc5, c == 0x62, c == 0xd5:
				// VEX, EVEX and REX2: the kernel looks up the opcode in the wrong table, so that it
				// mistakes vmovd for OUTSB.
				return true
			case c == 0x66, c == 0x67, c == 0xf2, c == 0xf3, c == 0x64, c == 0x65:
				continue // other prefixes
			}
			if c&0xf0 == 0x40 {
				continue // REX
			}
			inst, err := x86asm.Decode(code, 64)
			if err != nil || i > 4 {
				return true // at the begin of a function, mostly AVX
			}
			switch inst.Op {
			case x86asm.IN, x86asm.OUT, x86asm.INSB, x86asm.INSW, x86asm.INSD, x86asm.OUTSB, x86asm.OUTSW,
				x86asm.OUTSD, x86asm.INT, x86asm.ICEBP, x86asm.HLT, x86asm.CLI, x86asm.STI, x86asm.IRET,
				x86asm.IRETD, x86asm.IRETQ, x86asm.UD2, x86asm.UD1:
				return true
			}
			return false
		}
		return len(code) > 0
	case elf.EM_AARCH64:
		if len(code) < arm64InstructionSize {
			return false
		}
		w := binary.LittleEndian.Uint32(code)
		exclusive := w&0x3f000000 == 0x08000000
		exception := w&0xff000000 == 0xd4000000
		return exclusive || exception || w == 0 // 0 is UDF
	}
	return false
}

// behind returns a hint with an instruction that can be probed in place of a
// refused one.
func (s *Spec) behind(m *image, p place) string {
	addr := s.entry(m, p)
	size := uint64(arm64InstructionSize)
	if m.Machine == elf.EM_X86_64 {
		inst, err := x86asm.Decode(m.Bytes(addr, x86MaxInstruction), 64)
		if err != nil {
			return "probe another instruction of the function, or its caller"
		}
		size = uint64(inst.Len)
	}
	if p.fn.name == "" || s.Kind.returns() || addr+size-p.fn.addr >= p.fn.size {
		return "probe the caller, or a function that it calls"
	}
	return fmt.Sprintf("probe the next instruction: %s(%q, \"%s+%#x\")", s.Kind, s.File, p.fn.name,
		addr+size-p.fn.addr)
}
