package reading

import (
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/privilege"
	"ppscript/runtime/target/task"
)

// Threads are the threads that are there when a run begins. A live run lists them; a recording
// has records of them in front of its first sample.
type Threads struct {
	list []thread
	at   map[int32]int // in list, by tid
}

// A thread is one that is there.
type thread struct {
	tid, pid int32
	comm     string
}

// List lists the threads of these numbers, of the whole machine without some.
func (t *Threads) List(tids iter.Seq[int32]) {
	if tids != nil {
		for tid := range tids {
			t.name(task.ProcessOf(tid), tid)
		}
		return
	}
	for _, pid := range numbersIn("/proc") {
		for _, tid := range numbersIn(filepath.Join("/proc", strconv.Itoa(int(pid)), "task")) {
			t.name(pid, tid)
		}
	}
}

// name takes in a thread with its name, unless it is gone.
func (t *Threads) name(pid, tid int32) {
	comm, err := privilege.ReadFile(privilege.Processes,
		filepath.Join("/proc", strconv.Itoa(int(tid)), "comm"))
	if err == nil {
		t.add(thread{tid, pid, strings.TrimSuffix(string(comm), "\n")})
	}
}

// numbersIn are the entries of a directory whose names are numbers.
func numbersIn(dir string) (list []int32) {
	var entries []os.DirEntry
	entries, _ = privilege.ReadDir(privilege.Processes, dir)
	for _, e := range entries {
		if n, err := strconv.ParseInt(e.Name(), 10, 32); err == nil && n > 0 {
			list = append(list, int32(n))
		}
	}
	return list
}

// Record takes in what a recording says of the time before it: such records have no time.
func (t *Threads) Record(e *event.Event) {
	if e.Time != 0 {
		return
	}
	if c, ok := perf.DecodeComm(e); ok && c.TID > 0 {
		t.add(thread{c.TID, c.PID, c.Name})
	}
}

// add takes in a thread; the last word about it counts.
func (t *Threads) add(one thread) {
	if i, ok := t.at[one.tid]; ok {
		t.list[i] = one
		return
	}
	if t.at == nil {
		t.at = map[int32]int{}
	}
	t.at[one.tid] = len(t.list)
	t.list = append(t.list, one)
}

// Events are the events of all of them at that time, of a stream with ThreadSchema.
func (t *Threads) Events(st *event.Stream, at event.Time) []*event.Event {
	made := make([]*event.Event, len(t.list))
	for i, one := range t.list {
		slots := make([]event.Value, ThreadSlots)
		slots[ThreadTID], slots[ThreadPID] = event.IntOf(int64(one.tid)), event.IntOf(int64(one.pid))
		slots[ThreadComm] = event.StrOf(one.comm)
		made[i] = &event.Event{Stream: st, Time: at, PID: one.pid, TID: one.tid,
			Derived: &event.Derived{Slots: slots}}
	}
	return made
}
