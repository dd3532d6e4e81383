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

// This file stops script code that takes too much memory or time. The bounds of
// single operations (bounds.go) do not stop growth step by step: lists that are
// appended to, texts that are doubled. A timer looks at the heap while script
// code runs, and cancels it when the memory in use has grown beyond the limit.
// Garbage does not count: before that is said, it is collected.

// watchTick is how often the heap is looked at. One step adds 64 MiB at most.
const watchTick = 5 * time.Millisecond

// A watchdog looks after the calls of a Host, of which one may be in another.
type watchdog struct {
	limits *limits.Policy
	hung   func(error) // a call took grace longer than the time; nil: nobody wants to know
	grace  time.Duration

	mu      sync.Mutex
	threads []*Thread // that run, the outermost first
	paused  int       // how many sessions run inside
	timer   *time.Timer
	began   time.Time
	begun   bool  // base is known
	base    int64 // memory in use when the outermost began
	next    int64 // when to collect garbage the next time
}

// hungAfter is how much longer than its time a call may take. Starlark looks
// between its steps whether it is cancelled, and one step can last for ever:
// hashing a tuple that has the same tuple twice, which has another one twice.
const hungAfter = 5 * time.Second

// HeapInUse is how many bytes the heap has in use, with garbage that was not
// collected yet.
func HeapInUse() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}

// heapLive is how many bytes the last collection found in use.
func heapLive() int64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}

// enter begins a call on t; leave ends it.
func (w *watchdog) enter(t *Thread) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.threads = append(w.threads, t)
	if len(w.threads) > 1 {
		return
	}
	// Most calls end before the first tick: the heap is read then.
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

// pause stops watching until resume: a session that a script runs has its own
// bounds.
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
		// Garbage of before is nothing that the script holds.
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

// stop cancels the threads that run.
func (w *watchdog) stop(why error) {
	for _, t := range w.threads {
		t.stopped.CompareAndSwap(nil, &why)
		t.Thread.Cancel(why.Error())
	}
}

// Unwatched says that until resume is called, a session that the script
// started runs, and not the script.
func (h *Host) Unwatched() (resume func()) { return h.watchdog.pause() }

// limitError says which limit of memory or time a call exceeded.
type limitError struct{ word, text string }

func (e *limitError) Error() string { return e.text }

func overtime(p *limits.Policy) error {
	return &limitError{limits.Time, fmt.Sprintf("stopped after %v: does it loop for ever?", p.Time)}
}

func tooMuch(p *limits.Policy) error {
	return &limitError{limits.Memory, fmt.Sprintf("stopped: what it holds is larger than %d MiB",
		p.Memory>>20)}
}

// stoppedError is the error of a call that exceeded memory or time.
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

// stepsError is the error of a call that took too many steps.
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

// deep is the error of a value that main returned or a file declared.
func deep(p *limits.Policy, what string) *diag.Error {
	return &diag.Error{Op: what, Hint: "return a list of results, for example [table, log]",
		Cause: fmt.Errorf("lists are nested more than %d deep, or one is in itself", p.Depth)}
}
