package join

import (
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// A Select says which events around a pair are shown. An event is shown if any
// of the Same tests holds; without any, all are.
type Select struct {
	Before, After int64 // ns around the pair
	HideNS        int64 // leave out events that follow the one before sooner
	SameCPU       bool
	SamePID       bool
	SameTID       bool
	SameKey       bool
	// OnlyStart and OnlyEnd restrict the tests to one event of the pair.
	OnlyStart, OnlyEnd bool
	// KeyIsTask says that the key is a thread, which is then followed instead
	// of the thread in which the start happened.
	KeyIsTask bool
	// Keys are the key programs, by stream; nil entries have none.
	Keys []*expr.Program
}

// A kind of event that moves tasks.
type taskEvent uint8

const (
	otherEvent taskEvent = iota
	wakeupEvent
	switchEvent
	migrateEvent
)

// eventInfo holds the fields of a schema that name a task or a CPU.
type eventInfo struct {
	kind  taskEvent
	tasks []*event.Field
	cpus  []*event.Field

	pid, cpu   *event.Field // of wakeups and migrations: the task, and its new CPU
	prev, next *event.Field // of switches
	state      *event.Field
	comm       *event.Field // the name of the thread that leaves
}

// Names of fields that hold a thread or a CPU, in any event.
var (
	taskFields = []string{
		"pid", "tid", "task", "prev_pid", "next_pid", "parent_pid", "child_pid", "old_pid", "target_pid",
		"parent_tid", "child_tid",
	}
	cpuFields = []string{"cpu", "target_cpu", "orig_cpu", "dest_cpu", "src_cpu", "dst_cpu"}
)

func infoOf(s *event.Schema) *eventInfo {
	in := &eventInfo{}
	if s == nil {
		return in
	}
	own := func(name string) *event.Field {
		f, ok := s.Field(name)
		if !ok || f.Place == event.InMember {
			return nil
		}
		return f
	}
	for _, n := range taskFields {
		if f := own(n); f != nil && f.Kind == event.Int {
			in.tasks = append(in.tasks, f)
		}
	}
	for _, n := range cpuFields {
		if f := own(n); f != nil && f.Kind == event.Int {
			in.cpus = append(in.cpus, f)
		}
	}
	if s.System != "sched" {
		return in
	}
	switch {
	case s.Name == "sched_switch":
		in.prev, in.next, in.state, in.comm = own("prev_pid"), own("next_pid"),
			own("prev_state"), own("prev_comm")
		if in.prev != nil && in.next != nil {
			in.kind = switchEvent
		}
	case s.Name == "sched_migrate_task":
		in.pid, in.cpu = own("pid"), own("dest_cpu")
		if in.pid != nil && in.cpu != nil {
			in.kind = migrateEvent
		}
	case strings.HasPrefix(s.Name, "sched_wak"): // waking, wakeup, wakeup_new
		in.pid, in.cpu = own("pid"), own("target_cpu")
		if in.pid != nil && in.cpu != nil {
			in.kind = wakeupEvent
		}
	}
	return in
}

// intOf reads a field; -1 if the event lacks it.
func intOf(f *event.Field, e *event.Event) int64 {
	if f == nil {
		return -1
	}
	n, ok := f.Int(e)
	if !ok {
		return -1
	}
	return n
}

// names reports that one of the fields of e holds v.
func names(fields []*event.Field, e *event.Event, v int64) bool {
	for _, f := range fields {
		if n, ok := f.Int(e); ok && n == v {
			return true
		}
	}
	return false
}
