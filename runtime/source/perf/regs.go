package perf

import "runtime"

// UserRegs returns the mask of user registers that can be sampled; unwind.Mask has the registers
// that unwinding needs. The bits are numbered as in enum perf_event_x86_regs and
// perf_event_arm_regs in arch/*/include/uapi/asm/perf_regs.h; the segment registers ds to gs of
// x86-64 cannot be sampled.
func UserRegs() uint64 {
	if runtime.GOARCH == "arm64" {
		return 1<<33 - 1
	}
	return 0xff0fff
}
