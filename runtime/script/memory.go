package script

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"ppscript/runtime/system/limits"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/unit"
)

// This file stops code of scripts that uses too much memory or time. The bounds
// of single operations (bounds.go) do not stop growth in many steps: lists that
// are appended to, texts that are doubled. A timer checks the heap while code
// of scripts runs, and cancels the code when the memory in use has grown beyond
// the limit. Garbage does not count: it is collected before the final check.

// watchTick is the period of the checks. One step of a script adds at most 64
// MiB.
const watchTick = 5 * time.Millisecond

// A watchdog checks the calls of a Host, which may be nested.
type watchdog struct {
	limits *limits.Policy
	hung   func(error) // called when a call exceeds its time by grace; may be nil
	grace  time.Duration

	mu      sync.Mutex
	threads []*Thread // threads of the running calls, the outermost first
	paused  int       // number of sessions that run inside the calls
	timer   *time.Timer
	began   time.Time
	begun   bool  // base is set
	base    int64 // memory in use at the begin of the outermost call
	next    int64 // memory in use at which garbage is collected next
}

// hungAfter is the time by which a call may exceed its limit. Starlark checks
// between steps whether it is cancelled, but one step can last for ever:
// hashing a tuple that has the same tuple twice, which has another one twice,
// and so on.
const hungAfter = 5 * time.Second

// HeapInUse is the size of the heap in use in bytes, including garbage.
func HeapInUse() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}

// heapLive is the size of the heap in use after the last garbage collection, in
// bytes.
func heapLive() int64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}

// enter records the begin of a call on t; leave records the end.
func (w *watchdog) enter(t *Thread) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.threads = append(w.threads, t)
	if len(w.threads) > 1 {
		return
	}
	// The heap is read at the first tick only, since most calls end before it.
	w.began, w.begun = time.Now(), false
	if w.timer == nil {
		w.timer = time.AfterFunc(watchTick, w.tick)
	} else {
		w.timer.Reset(watchTick)
	}
}

func (w *watchdog) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.threads = w.threads[:len(w.threads)-1]; len(w.threads) == 0 {
		w.timer.Stop()
	}
}

// pause stops the checks until resume is called: a session that a script runs
// has its own bounds.
func (w *watchdog) pause() (resume func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paused++
	since := time.Now()
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.paused--
		w.began = w.began.Add(time.Since(since))
		w.begun = false
	}
}

func (w *watchdog) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.threads) == 0 {
		return
	}
	w.timer.Reset(watchTick)
	if w.paused > 0 {
		return
	}
	if late := time.Since(w.began) - w.limits.Time; late > 0 {
		why := overtime(w.limits)
		w.stop(why)
		if late > w.grace && w.hung != nil {
			w.hung(why)
		}
		return
	}
	now := HeapInUse()
	if !w.begun {
		// Garbage from before the call does not count for the script.
		if now > heapLive()+w.limits.Memory/2 {
			runtime.GC()
			now = HeapInUse()
		}
		w.begun, w.base, w.next = true, now, now+w.limits.Memory
	}
	if now < w.next {
		return
	}
	runtime.GC()
	now = HeapInUse()
	if now > w.base+w.limits.Memory {
		w.stop(tooMuch(w.limits))
		return
	}
	w.next = max(w.base+w.limits.Memory, now+w.limits.Memory/2)
}

// stop cancels the running threads.
func (w *watchdog) stop(why error) {
	for _, t := range w.threads {
		t.stopped.CompareAndSwap(nil, &why)
		t.Thread.Cancel(why.Error())
	}
}

// Unwatched pauses the checks until resume is called, while a session that the
// script started runs.
func (h *Host) Unwatched() (resume func()) { return h.watchdog.pause() }

// limitError names the limit of memory or time that a call exceeded.
type limitError struct{ word, text string }

func (e *limitError) Error() string { return e.text }

func overtime(p *limits.Policy) error {
	return &limitError{limits.Time, fmt.Sprintf("stopped after %v: does it loop for ever?", p.Time)}
}

func tooMuch(p *limits.Policy) error {
	return &limitError{limits.Memory, fmt.Sprintf("stopped: what it holds is larger than %d MiB",
		p.Memory>>20)}
}

// stoppedError is the error of a call that exceeded its memory or time.
func stoppedError(p *limits.Policy, why error) *diag.Error {
	hint := "let it do less: what is counted for each event belongs in a pipeline, such as " +
		"stream.by(\"comm\").count()"
	if e := (*limitError)(nil); errors.As(why, &e) {
		to := (2 * p.Time).String()
		if e.word == limits.Memory {
			to = unit.Size(2 * p.Memory)
		}
		hint += "; " + p.Raise(e.word, to)
	}
	return &diag.Error{Cause: why, Hint: hint}
}

// stepsError is the error of a call that exceeded its steps.
func (t *Thread) stepsError() *diag.Error {
	word := limits.Steps
	if t.helper {
		word = limits.CallSteps
	}
	return &diag.Error{
		Cause: fmt.Errorf("stopped after %d steps: does it loop for ever?", t.max),
		Hint:  "if it does not, let it do less; " + t.host.opts.Limits.Raise(word, fmt.Sprint(10*t.max)),
	}
}

// deep is the error for a value, returned by main or declared by a file, that
// is nested too deeply.
func deep(p *limits.Policy, what string) *diag.Error {
	return &diag.Error{Op: what, Hint: "return a list of results, for example [table, log]",
		Cause: fmt.Errorf("lists are nested more than %d deep, or one is in itself", p.Depth)}
}
