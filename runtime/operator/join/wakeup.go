package join

import "ppscript/runtime/event"

// This file recognises wakeups that no switch will follow. They would wait for
// ever, or worse, be taken for the start of the next delay:
//
//   - a task that wakes itself runs already;
//   - a task that is still running where it is woken had only prepared to
//     sleep; it goes on without a switch. The CPU of each task is known if every
//     sched_switch is seen, in time order.

const unknownTask = -1

// maxCPU bounds CPU numbers; larger ones are taken for damaged data.
const maxCPU = 1 << 16

// switched notes that a task begins to run.
func (j *Join) switched(e *event.Event, next *event.Field) {
	if e.CPU < 0 || e.CPU >= maxCPU {
		return
	}
	for int(e.CPU) >= len(j.running) {
		j.running = append(j.running, unknownTask)
	}
	pid, ok := next.Int(e)
	if !ok {
		pid = unknownTask
	}
	j.running[e.CPU] = pid
}

// unnecessary reports that a wakeup changes nothing.
func (j *Join) unnecessary(f *Wakeup, e *event.Event) bool {
	pid, ok := f.PID.Int(e)
	if !ok {
		return false
	}
	if pid == int64(e.TID) {
		return true
	}
	if f.CPU == nil {
		return false
	}
	cpu, ok := f.CPU.Int(e)
	return ok && pid > 0 && cpu >= 0 && cpu < int64(len(j.running)) && j.running[cpu] == pid
}

// TaskFields are the fields that name tasks in events of scheduling: for wakeups the
// task and its CPU, for switches the next task.
func TaskFields(s *event.Schema) (w *Wakeup, next *event.Field) {
	field := func(name string) *event.Field {
		f, ok := s.Field(name)
		if !ok || f.Place != event.InRaw {
			return nil
		}
		return f
	}
	switch s.FullName() {
	case "sched:sched_wakeup", "sched:sched_waking":
		if f := field("pid"); f != nil {
			w = &Wakeup{PID: f, CPU: field("target_cpu")}
		}
	case "sched:sched_switch":
		next = field("next_pid")
	}
	return w, next
}

// Notes lists, for explain, the options of a join.
func (s *Spec) Notes() (notes []string) {
	if s.Nested {
		notes = append(notes, "entries and returns nest as calls do: each key has a stack")
	}
	if s.Cycle {
		notes = append(notes, "the last stage also precedes the first")
	}
	wakeup, next := false, false
	for i := range s.In {
		wakeup = wakeup || s.In[i].Wakeup != nil
		next = next || s.In[i].NextPID != nil
	}
	switch {
	case wakeup && next:
		notes = append(notes, "a wakeup of a task that wakes itself, or still runs, starts nothing")
	case wakeup:
		notes = append(notes, "a wakeup of a task that wakes itself starts nothing")
	}
	return notes
}
