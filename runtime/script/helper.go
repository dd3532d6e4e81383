package script

import (
	"runtime"
	"time"
)

// This file bounds the memory and time of helpers: the functions of a script that are called per
// event, row or cell. There are too many calls to report each to the watchdog. So the interpreter
// stops every 100,000 steps, which few calls reach, and the heap and the clock are checked then.

// helperTick is the number of steps between two checks of a helper: about two
// ms.
const helperTick = 100_000

// ranOut is called when a thread has used up its steps, or when a helper is due for a check.
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

// exceeds returns the error if this call exceeds a limit of memory or time.
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

// again prepares the thread for another call.
func (t *Thread) again() {
	t.began = time.Time{}
	t.stopped.Store(nil)
	t.Thread.SetMaxExecutionSteps(min(t.max, helperTick))
}
