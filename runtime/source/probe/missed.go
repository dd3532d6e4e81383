package probe

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"ppscript/runtime/system/kernel"
)

// This file knows how many returns of a function of the kernel are seen at a time.

// MissedReturns says that returns of the functions may be missing, and that nobody counts
// them. A return probe keeps a place for each call that is active: perf asks for as many as
// the kernel thinks best (maxactive in kernel/kprobes.c).
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

// places is how many calls a return probe has places for, by what the kernel says of how
// it was built ("#1 SMP PREEMPT_DYNAMIC ...").
func places(built string, possibleCPUs int) int {
	if strings.Contains(built, "PREEMPT") {
		return max(10, 2*possibleCPUs)
	}
	return max(1, possibleCPUs)
}
