package budget

import (
	"bytes"
	"os"
	"strconv"
)

// This file tells whether many more threads want to run than there are CPUs. Then ppscript gets its CPU
// late, when others have had theirs, and slots of time are no chance sample of what these do.

// A crowding is how many threads have a CPU or want one, on average over the last slots.
type crowding struct {
	running   float64
	requested bool
}

// crowded is how many runnable threads for each CPU are a crowd.
const crowded = 2

// many asks the kernel, and reports a crowd. Where it does not tell there is none.
func (c *crowding) many(cpus int) bool {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return false
	}
	return c.add(text, cpus)
}

// add adds what /proc/loadavg says, whose fourth field is how many threads are runnable, and of how many.
func (c *crowding) add(loadavg []byte, cpus int) bool {
	fields := bytes.Fields(loadavg)
	if len(fields) < 4 {
		return false
	}
	runnable, _, _ := bytes.Cut(fields[3], []byte("/"))
	n, err := strconv.Atoi(string(runnable))
	if err != nil {
		return false
	}
	if !c.requested {
		c.running, c.requested = float64(n), true
	}
	c.running += (float64(n) - c.running) / 4
	return c.running > crowded*float64(cpus)
}
