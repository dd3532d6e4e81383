package script

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"ppscript/runtime/expr"
	"ppscript/runtime/system/limits"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// HostOptions configures a Host; the zero value runs plain Starlark from disk.
type HostOptions struct {
	// Predeclared are the names that every file sees. They are frozen.
	Predeclared starlark.StringDict
	// Stdlib is the root of @stdlib//; nil if there is none.
	Stdlib fs.FS
	// Resolve finds modules of other libraries ("host/path//file.star"); from
	// is the position of the load. It returns a name for messages, unique to
	// the module. Nil: there are none.
	Resolve func(module, from string) (name string, src []byte, err error)
	// Vet is asked about each file before it runs, the one that is loaded first before those that
	// it loads; an error refuses it. name is an absolute path, or LIBRARY//FILE. What comes with the
	// program, and texts that the user types, are not asked about. Nil: all may run.
	Vet func(name string, src []byte) error
	// Print receives the output of scripts' print, without a newline. Nil: stderr.
	Print func(msg string)
	// Limits bound what scripts may take; the zero value has the defaults.
	Limits limits.Policy
	// Hung is called with the reason when a call goes on for long after Limits.Time,
	// in one step that cannot be cancelled: the process has to end. Nil: it
	// goes on.
	Hung func(why error)
}

// A Host runs scripts. Files are loaded once and kept.
type Host struct {
	opts     HostOptions
	guards   starlark.StringDict // functions that guarded code calls
	names    starlark.StringDict // names that code sees, with guards
	watchdog watchdog
	loaded   modules
	texts    sourceFiles
	threads  threads
	checked  map[*starlark.Function]starlark.Callable

	// Session is set by the code that makes the run, before scripts ask.
	Session Session
}

// A Session is what scripts may know of the run that they describe.
type Session struct {
	ByThread  bool           // it observes threads, not CPUs
	Recorded  bool           // its events come from a recording
	Verbosity int            // how much the user wants to be told beside the results
	Services  *expr.Services // for functions that run beside events: those of the plan that was made last
}

// The modules of a Host, loaded or on their way.
type modules struct {
	byName  map[string]*Module
	sums    map[string][sha256.Size]byte // of the texts that ran
	hashes  map[string][sha256.Size]byte // of those that changed since and were told of
	loading []string                     // names of the modules being loaded, outermost first
	serving []*Module                    // whose main runs for another's
}

// The sourceFiles are the files that were read, for excerpts and checks.
type sourceFiles struct {
	mu     sync.Mutex
	byName map[string]*source // as it is in positions
}

// A threads is the Starlark threads of a Host, to be stopped from elsewhere.
type threads struct {
	mu        sync.Mutex
	list      []weak.Pointer[starlark.Thread]
	full      int // how many there may be until those that ended are left out
	cancelled atomic.Pointer[string]
}

// A source is the text and tree of a file, kept for excerpts, checks and
// lowering. tree is nil if the text did not parse.
type source struct {
	text  string
	tree  *syntax.File
	names starlark.StringDict // globals of the REPL that it is part of
}

// NewHost makes a Host and freezes opts.Predeclared.
func NewHost(opts HostOptions) *Host {
	opts.Limits = opts.Limits.Whole()
	if opts.Print == nil {
		opts.Print = func(msg string) { fmt.Fprintln(os.Stderr, msg) }
	}
	opts.Predeclared.Freeze()
	h := &Host{opts: opts, guards: guards()}
	h.loaded.byName, h.texts.byName = map[string]*Module{}, map[string]*source{}
	h.loaded.sums = map[string][sha256.Size]byte{}
	h.names = withGuards(opts.Predeclared, h.guards)
	h.watchdog = watchdog{limits: &h.opts.Limits, hung: opts.Hung, grace: hungAfter}
	return h
}

// Predeclared are the names that every file sees, apart from Starlark's own.
func (h *Host) Predeclared() starlark.StringDict { return h.opts.Predeclared }

const hostKey = "ppscript.host"

// HostOf returns the Host that runs the thread; nil if none does.
func HostOf(t *starlark.Thread) *Host {
	h, _ := t.Local(hostKey).(*Host)
	return h
}

// A Thread is a Starlark thread with a step limit.
type Thread struct {
	*starlark.Thread
	host    *Host
	max     uint64
	limited bool                  // the step limit stopped the call
	helper  bool                  // it looks after itself, see helper.go
	began   time.Time             // when it first did in this call
	base    int64                 // memory in use then
	stopped atomic.Pointer[error] // by the watchdog, and why
}

func (h *Host) newThread(name string, max uint64) *Thread {
	t := &Thread{Thread: &starlark.Thread{Name: name}, host: h, max: max}
	t.Thread.Print = func(_ *starlark.Thread, msg string) { h.opts.Print(msg) }
	t.Thread.Load = h.load
	t.Thread.SetLocal(hostKey, h)
	t.Thread.SetLocal(limitKey, t)
	t.Thread.SetMaxExecutionSteps(max)
	t.Thread.OnMaxSteps = func(st *starlark.Thread) { t.ranOut() }
	h.threads.add(t.Thread)
	return t
}

func (l *threads) add(t *starlark.Thread) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// A function that is called for each row of a table makes many.
	if len(l.list) >= l.full {
		l.list = slices.DeleteFunc(l.list, func(w weak.Pointer[starlark.Thread]) bool {
			return w.Value() == nil
		})
		l.full = 64 + 2*len(l.list)
	}
	l.list = append(l.list, weak.Make(t))
	if r := l.cancelled.Load(); r != nil {
		t.Cancel(*r)
	}
}

// EventThread is the thread of a helper: a function that is called per event, row or cell.
func (h *Host) EventThread(name string) *Thread {
	t := h.newThread(name, h.opts.Limits.CallSteps)
	t.helper = true
	t.Thread.SetMaxExecutionSteps(min(t.max, helperTick))
	return t
}

// LimitsOf bound what the code on a thread may take.
func LimitsOf(t *starlark.Thread) limits.Policy {
	if h := HostOf(t); h != nil {
		return h.opts.Limits
	}
	return limits.Policy{}.Whole()
}

// Host is the host that the thread belongs to.
func (t *Thread) Host() *Host { return t.host }

// Halted reports that no further call succeeds: the last one ran into the step
// limit, or the host was cancelled.
func (t *Thread) Halted() bool { return t.limited || t.host.threads.cancelled.Load() != nil }

// Restart makes t ready for another top-level call.
func (t *Thread) Restart() {
	t.Thread.Steps = 0
	if t.helper {
		t.again()
	}
	if t.limited {
		t.limited = false
		t.Thread.Uncancel()
		if r := t.host.threads.cancelled.Load(); r != nil {
			t.Thread.Cancel(*r)
		}
	}
}

// Cancel stops all script code, now and later, with the reason in the
// error. It may be called from any goroutine.
func (h *Host) Cancel(reason string) { h.threads.cancel(reason) }

// Resume undoes Cancel: the REPL goes on after Ctrl-C.
func (h *Host) Resume() { h.threads.resume() }

func (l *threads) cancel(reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancelled.CompareAndSwap(nil, &reason)
	for _, w := range l.list {
		if t := w.Value(); t != nil {
			t.Cancel(reason)
		}
	}
}

func (l *threads) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancelled.Store(nil)
	for _, w := range l.list {
		if t := w.Value(); t != nil {
			t.Uncancel()
		}
	}
}

// Stopped reports that the thread was cancelled or ran into its step limit:
// the script must end, so nobody may catch the error.
func Stopped(t *starlark.Thread) bool {
	h := HostOf(t)
	return h != nil && h.threads.cancelled.Load() != nil || limitReached(t)
}

const limitKey = "ppscript.thread"

func limitReached(t *starlark.Thread) bool {
	own, _ := t.Local(limitKey).(*Thread)
	return own != nil && (own.limited || own.stopped.Load() != nil)
}

// Call calls a script's function, main for example, under the step limit.
// The error is a *diag.Error.
func (h *Host) Call(fn starlark.Callable, args ...starlark.Value) (starlark.Value, error) {
	return h.callNamed(fn, args, nil)
}

// callNamed is Call with keyword arguments.
func (h *Host) callNamed(fn starlark.Callable, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	t := h.newThread(fn.Name(), h.opts.Limits.Steps)
	v, err := t.run(func() (starlark.Value, error) {
		return starlark.Call(t.Thread, fn, args, kwargs)
	})
	if err == nil && nested(v, h.opts.Limits.Depth) {
		d := deep(&h.opts.Limits, fn.Name())
		if f, ok := fn.(*starlark.Function); ok {
			return nil, h.At(f.Position(), d)
		}
		return nil, d
	}
	return v, err
}

// run executes script code on t. A Go panic below it is our bug, and is
// reported as one without a Go stack.
func (t *Thread) run(f func() (starlark.Value, error)) (v starlark.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = nil, t.host.Bug(p)
		}
	}()
	t.host.watchdog.enter(t)
	defer t.host.watchdog.leave()
	v, err = f()
	if err == nil && t.stopped.Load() != nil {
		err = *t.stopped.Load() // it ended just then
	}
	if err != nil {
		return nil, t.Explain(err)
	}
	return v, nil
}
