package probe

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"ppscript/runtime/system/kernel"
)

// This file computes how many calls of a kernel function a return probe can
// observe at the same time.

// MissedReturns returns a note that returns of functions may be missing without being
// counted. A return probe needs a slot for each active call, and has the kernel's default
// number of slots (maxactive in kernel/kprobes.c).
func MissedReturns(label string, more int) string {
	cpus, err := kernel.ReadCPUs(kernel.Roots{})
	if err != nil {
		return ""
	}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return ""
	}
	if more > 0 {
		label = fmt.Sprintf("%s and %d more", label, more)
	}
	return fmt.Sprintf(
		"%s: the kernel follows at most %d of its calls at a time; "+
			"returns of others are missed, and not counted as lost", label,
		places(unix.ByteSliceToString(name.Version[:]), len(cpus.Possible)))
}

// places returns the number of slots of a return probe, from the kernel's build string
// ("#1 SMP PREEMPT_DYNAMIC ...").
func places(built string, possibleCPUs int) int {
	if strings.Contains(built, "PREEMPT") {
		return max(10, 2*possibleCPUs)
	}
	return max(1, possibleCPUs)
}
