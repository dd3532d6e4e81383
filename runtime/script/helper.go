package script

import (
	"runtime"
	"time"
)

// This file bounds helpers in memory and time: the functions of a script that are called per event,
// row or cell. They are too many calls for a watchdog that is told of each. So the interpreter stops
// every 100,000 steps, which nearly no call has, and the heap and the clock are looked at then.

// helperTick is after how many steps a helper looks after itself: two ms.
const helperTick = 100_000

// ranOut is called when a thread has used up its steps, or when a helper is to look after itself.
func (t *Thread) ranOut() {
	if !t.helper || t.Thread.Steps >= t.max {
		t.limited = true
		t.Thread.Cancel("step limit")
		return
	}
	if err := t.exceeds(); err != nil {
		t.limited = true
		t.stopped.Store(&err)
		t.Thread.Cancel(err.Error())
		return
	}
	t.Thread.SetMaxExecutionSteps(min(t.max, t.Thread.Steps+helperTick))
}

// exceeds is which limit of memory or time this call exceeds.
func (t *Thread) exceeds() error {
	limits := &t.host.opts.Limits
	now := HeapInUse()
	if t.began.IsZero() {
		t.began, t.base = time.Now(), now
		return nil
	}
	if time.Since(t.began) > limits.Time {
		return overtime(limits)
	}
	if now-t.base <= limits.Memory {
		return nil
	}
	runtime.GC()
	if HeapInUse()-t.base <= limits.Memory {
		return nil
	}
	return tooMuch(limits)
}

// again begins another call.
func (t *Thread) again() {
	t.began = time.Time{}
	t.stopped.Store(nil)
	t.Thread.SetMaxExecutionSteps(min(t.max, helperTick))
}
