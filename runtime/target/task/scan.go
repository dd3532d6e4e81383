package task

import (
	"path/filepath"
	"strconv"
	"time"

	"ppscript/runtime/system/privilege"
)

// Scan reads the names of all running processes, and then of their other threads,
// so that a thread that ends before its first event is handled still has a name.
// It stops after limit, since each thread costs 10 us; the remaining names are
// read when they are asked for.
func (t *Table) Scan(limit time.Duration) {
	if t.opt.NoProc {
		return
	}
	end := time.Now().Add(limit)
	var pids []string
	t.scan(t.opt.Proc, end, func(pid string) { pids = append(pids, pid) })
	for _, pid := range pids {
		if time.Now().After(end) {
			return
		}
		t.threads(pid, end)
	}
}

// ScanTarget reads the names of all observed processes, with all of their
// threads, and of all observed threads, without a bound on time.
func (t *Table) ScanTarget(pids, tids []int) {
	if t.opt.NoProc {
		return
	}
	for _, pid := range pids {
		t.threads(strconv.Itoa(pid), time.Now().Add(time.Hour))
	}
	for _, tid := range tids {
		t.Comm(int32(tid))
	}
}

func (t *Table) threads(pid string, end time.Time) {
	t.scan(filepath.Join(t.opt.Proc, pid, "task"), end, func(string) {})
}

// scan reads the names of the threads that a directory lists by number.
func (t *Table) scan(path string, end time.Time, each func(number string)) {
	dir, err := privilege.Open(privilege.Processes, path)
	if err != nil {
		return // the process has ended
	}
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(256)
		for _, n := range names {
			tid, notTID := strconv.ParseInt(n, 10, 32)
			if notTID != nil {
				continue
			}
			each(n)
			if _, known := t.index[int32(tid)]; !known {
				t.lookUp(int32(tid))
			}
		}
		if err != nil || time.Now().After(end) {
			return
		}
	}
}
