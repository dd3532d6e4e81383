package task

import (
	"path/filepath"
	"strconv"
	"strings"

	"ppscript/runtime/system/privilege"
)

// Slow path: lookUp answers for a thread that nothing was heard of, once.
// /proc tells the name of now, which is the name at the event unless the thread
// was renamed in between; anything that records or events say replaces it.
func (t *Table) lookUp(tid int32) string {
	switch {
	case tid == 0:
		return "swapper"
	case tid < 0:
		// The kernel no longer has a number for a thread that has ended.
		return "[exited]"
	}
	th := t.slot(tid)
	number := strconv.Itoa(int(tid))
	if !t.opt.NoProc {
		t.stats.ProcReads++
		// Threads are there by number although the directory does not list them.
		b, err := privilege.ReadFile(privilege.Processes, filepath.Join(t.opt.Proc, number, "comm"))
		if name := ownName(strings.TrimSuffix(string(b), "\n")); err == nil && name != "" {
			th.name, th.state = name, alive
			return name
		}
	}
	th.name = "pid-" + number
	return th.name
}

// ownName takes off what /proc adds to the name of a kworker: the work that
// it did last, as in "kworker/0:2-events". Events have the name without it.
func ownName(comm string) string {
	if strings.HasPrefix(comm, "kworker/") {
		// "kworker/R-netns", a rescuer, has no number and no addition.
		if _, after, ok := strings.Cut(comm, ":"); ok {
			if i := strings.IndexAny(after, "-+"); i >= 0 {
				return comm[:len(comm)-len(after)+i]
			}
		}
	}
	return comm
}
