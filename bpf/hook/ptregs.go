package hook

import "runtime"

// This file has the offsets of registers in the contexts of programs: struct pt_regs
// of a probe, and struct bpf_perf_event_data of a sample, which begins with the
// registers.

// registerAt lists the offsets of the kernel's numbered registers (enum
// perf_event_x86_regs, perf_event_arm_regs) in struct pt_regs, or struct
// user_pt_regs; -1 if a register is not there. Both layouts are ABI.
var registerAt = map[string][]int16{
	"amd64": {80, 40, 88, 96, 104, 112, 32, 152, 128, 144, 136, 160, -1, -1, -1, -1,
		72, 64, 56, 48, 24, 16, 8, 0},
	"arm64": {0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144, 152, 160,
		168, 176, 184, 192, 200, 208, 216, 224, 232, 240, 248, 256},
}[runtime.GOARCH]

// instructionPointer is the index of the instruction pointer in registerAt.
var instructionPointer = map[string]uint8{"amd64": 8, "arm64": 32}[runtime.GOARCH]

// periodAt is the offset of the period in the context of a sampled event,
// behind the registers. It must match struct bpf_perf_event_data in
// arch/*/include/uapi/asm/bpf_perf_event.h and linux/bpf_perf_event.h.
var periodAt = map[string]int16{"amd64": 21 * 8, "arm64": 34 * 8}[runtime.GOARCH]

// interruptsAt returns the offset of the word and the shift of the bit that says whether
// interrupts are enabled, or, if enabled is false, disabled.
func interruptsAt() (off int16, shift int32, enabled bool) {
	if runtime.GOARCH == "arm64" {
		return 264, 7, false // pstate, PSR_I_BIT
	}
	return 144, 9, true // flags, X86_EFLAGS_IF
}
