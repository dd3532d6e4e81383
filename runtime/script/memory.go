package script

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"ppscript/runtime/diag"
)

// This file stops script code that takes too much memory or time. The bounds of
// single operations (bounds.go) do not stop growth step by step: lists that are
// appended to, texts that are doubled. A timer looks at the heap while script
// code runs, and cancels it when the memory in use has grown beyond the limit.
// Garbage does not count: before that is said, it is collected.

// DefaultMaxMemory is how much the heap may grow while a file is loaded, main or
// a statement runs.
const DefaultMaxMemory = 256 << 20

// watchTick is how often the heap is looked at. One step adds 64 MiB at most.
const watchTick = 5 * time.Millisecond

// A watchdog looks after the calls of a Host, of which one may be in another.
type watchdog struct {
	memory int64
	time   time.Duration // 0: no limit
	hung   func(error)   // a call took grace longer than the time; nil: nobody wants to know
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
	if late := time.Since(w.began) - w.time; w.time > 0 && late > 0 {
		why := fmt.Errorf("stopped after %v: does it loop for ever?", w.time)
		w.stop(why)
		if late > w.grace && w.hung != nil {
			w.hung(why)
		}
		return
	}
	now := HeapInUse()
	if !w.begun {
		w.begun, w.base, w.next = true, now, now+w.memory
	}
	if now < w.next {
		return
	}
	runtime.GC()
	now = HeapInUse()
	if now > w.base+w.memory {
		w.stop(fmt.Errorf("stopped: what it holds is larger than %d MiB", w.memory>>20))
		return
	}
	w.next = max(w.base+w.memory, now+w.memory/2)
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

// stoppedError is the error of a call that the watchdog stopped.
func stoppedError(why error) *diag.Error {
	return &diag.Error{Cause: why,
		Hint: "let it do less: what is counted for each event belongs in a pipeline, such as stream.by(\"comm\").count()"}
}

// deep is the error of a value that main returned or a file declared.
func deep(what string) *diag.Error {
	return &diag.Error{Op: what, Cause: errNested, Hint: "return a list of results, for example [table, log]"}
}
