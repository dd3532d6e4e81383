package session

import "runtime"

// userRegs are the user registers that unwinding needs: all general ones. The
// bits are those of enum perf_event_x86_regs and perf_event_arm_regs in
// arch/*/include/uapi/asm/perf_regs.h; the segment registers ds to gs of
// x86-64 cannot be sampled.
var userRegs = map[string]uint64{"amd64": 0xff0fff, "arm64": 1<<33 - 1}[runtime.GOARCH]
