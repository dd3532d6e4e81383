package task

import (
	"os"
	"strconv"
	"time"
)

// Scan reads the names of the processes that live now, so that those that end
// before their first event is looked at have one. It stops after limit: on a
// machine with tens of thousands of processes the others are read when they
// are asked for. A process costs 10 us.
func (t *Table) Scan(limit time.Duration) {
	if t.opt.NoProc {
		return
	}
	end := time.Now().Add(limit)
	dir, err := os.Open(t.opt.Proc)
	if err != nil {
		return
	}
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(256)
		for _, n := range names {
			pid, notPID := strconv.ParseInt(n, 10, 32)
			if notPID != nil {
				continue
			}
			if _, known := t.index[int32(pid)]; !known {
				t.lookUp(int32(pid))
			}
		}
		if err != nil || time.Now().After(end) {
			return
		}
	}
}
