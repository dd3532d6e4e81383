package task

import (
	"path/filepath"
	"strconv"
	"strings"

	"ppscript/runtime/system/privilege"
)

// Slow path: lookUp reads the name of a thread without records from /proc,
// once. It is the current name, which differs from the name at the event if the
// thread was renamed in between. A name from a record or an event replaces it.
func (t *Table) lookUp(tid int32) string {
	switch {
	case tid == 0:
		return "swapper"
	case tid < 0:
		// The thread has ended, and has no number any more.
		return "[exited]"
	}
	th := t.slot(tid)
	number := strconv.Itoa(int(tid))
	if !t.opt.NoProc {
		t.stats.ProcReads++
		// /proc/TID exists for each thread, although /proc lists only processes.
		b, err := privilege.ReadFile(privilege.Processes, filepath.Join(t.opt.Proc, number, "comm"))
		if name := ownName(strings.TrimSuffix(string(b), "\n")); err == nil && name != "" {
			th.name, th.state = name, alive
			return name
		}
	}
	th.name = "pid-" + number
	return th.name
}

// ownName removes the suffix that /proc adds to the name of a kworker, the name
// of its last work ("kworker/0:2-events"). Events have the name without it.
func ownName(comm string) string {
	if strings.HasPrefix(comm, "kworker/") {
		// "kworker/R-netns", a rescuer, has no number and no suffix.
		if _, after, ok := strings.Cut(comm, ":"); ok {
			if i := strings.IndexAny(after, "-+"); i >= 0 {
				return comm[:len(comm)-len(after)+i]
			}
		}
	}
	return comm
}
