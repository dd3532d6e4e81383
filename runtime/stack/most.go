package stack

import (
	"os"
	"strconv"
	"strings"
)

// Most is the largest number of addresses that the kernel puts into a chain.
func Most(replay bool) int {
	const usual = 127
	if replay {
		return usual
	}
	b, err := os.ReadFile("/proc/sys/kernel/perf_event_max_stack")
	if n, perr := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && perr == nil && n > 0 {
		return n
	}
	return usual
}
