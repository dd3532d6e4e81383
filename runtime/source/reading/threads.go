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

// Threads are the threads that exist when a run begins. A live run lists them with List; a
// recording has records of them before its first sample.
type Threads struct {
	list []thread
	at   map[int32]int // in list, by tid
}

// A thread is one thread of Threads.
type thread struct {
	tid, pid int32
	comm     string
}

// List adds the threads with these numbers, or all threads of the machine if
// tids is nil.
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

// name reads the name of a thread and adds the thread, unless it has ended.
func (t *Threads) name(pid, tid int32) {
	comm, err := privilege.ReadFile(privilege.Processes,
		filepath.Join("/proc", strconv.Itoa(int(tid)), "comm"))
	if err == nil {
		t.add(thread{tid, pid, strings.TrimSuffix(string(comm), "\n")})
	}
}

// numbersIn lists the entries of a directory whose names are numbers.
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

// Record adds the thread of a recording's COMM record, if the record describes the state
// before the recording: such records have time 0.
func (t *Threads) Record(e *event.Event) {
	if e.Time != 0 {
		return
	}
	if c, ok := perf.DecodeComm(e); ok && c.TID > 0 {
		t.add(thread{c.TID, c.PID, c.Name})
	}
}

// add adds a thread, or replaces an earlier entry with the same tid.
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

// Events returns an event of a stream with ThreadSchema for each thread, all at the
// given time.
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
