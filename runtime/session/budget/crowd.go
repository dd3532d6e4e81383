package budget

import (
	"bytes"
	"os"
	"strconv"
)

// This file detects that many more threads are runnable than there are CPUs. Then ppscript gets a
// CPU late, after other threads have run, and slots of time are no random sample of their work.

// A crowding averages the number of runnable threads over the last slots.
type crowding struct {
	running   float64
	requested bool
}

// crowded is the number of runnable threads for each CPU from which slots are
// not trusted.
const crowded = 2

// many reads the kernel's number and reports a crowd; false if it cannot be read.
func (c *crowding) many(cpus int) bool {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return false
	}
	return c.add(text, cpus)
}

// add adds a text of /proc/loadavg, whose fourth field is the number of runnable threads and of all
// threads.
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
