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
	// Predeclared are the names that every file can use. They are frozen.
	Predeclared starlark.StringDict
	// Stdlib is the root of @stdlib//; nil if there is none.
	Stdlib fs.FS
	// Resolve finds modules of other libraries ("host/path//file.star"); from
	// is the position of the load. It returns a name for messages, unique to
	// the module. Nil means that there are no libraries.
	Resolve func(module, from string) (name string, src []byte, err error)
	// Vet is called for each file before it runs, also before the files that it loads; an error
	// refuses it. name is an absolute path, or LIBRARY//FILE. It is not called for scripts that
	// come with the program and for typed texts. Nil permits all.
	Vet func(name string, src []byte) error
	// Print receives the output of scripts' print, without a newline. Nil: stderr.
	Print func(msg string)
	// Limits bound the resources of scripts; the zero value stands for the
	// defaults.
	Limits limits.Policy
	// Hung is called with the reason when a call continues long after Limits.Time,
	// in a single step that cannot be cancelled; the process must then exit. Nil
	// lets it continue.
	Hung func(why error)
}

// A Host runs scripts. Each file is loaded once.
type Host struct {
	opts     HostOptions
	guards   starlark.StringDict // functions that rewritten code calls
	names    starlark.StringDict // Predeclared and guards
	watchdog watchdog
	loaded   modules
	texts    sourceFiles
	threads  threads
	checked  map[*starlark.Function]starlark.Callable

	// Session is set by the code that makes the run, before scripts use it.
	Session Session
}

// A Session has the facts about the run that scripts can query.
type Session struct {
	ByThread  bool           // the run observes threads, not CPUs
	Recorded  bool           // the events come from a recording
	Verbosity int            // the user's level of verbosity
	Services  *expr.Services // services for functions that do not run per event, of the latest plan
}

// The modules of a Host that are loaded or being loaded.
type modules struct {
	byName  map[string]*Module
	sums    map[string][sha256.Size]byte // SHA-256 of the texts that ran
	hashes  map[string][sha256.Size]byte // SHA-256 of changed files that Changed has already returned
	loading []string                     // names of the modules being loaded, outermost first
	serving []*Module                    // modules whose main is called by another's main
}

// The sourceFiles of a Host are the files that were read, for excerpts and
// checks.
type sourceFiles struct {
	mu     sync.Mutex
	byName map[string]*source // by the name in positions
}

// A threads lists the Starlark threads of a Host, so that another goroutine can
// stop them.
type threads struct {
	mu        sync.Mutex
	list      []weak.Pointer[starlark.Thread]
	full      int // length at which ended threads are removed
	cancelled atomic.Pointer[string]
}

// A source is the text and tree of a file, kept for excerpts, checks and
// lowering. tree is nil if the text did not parse.
type source struct {
	text  string
	tree  *syntax.File
	names starlark.StringDict // globals of the REPL, for a chunk
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

// Predeclared returns the names that every file can use, without Starlark's
// own.
func (h *Host) Predeclared() starlark.StringDict { return h.opts.Predeclared }

const hostKey = "ppscript.host"

// HostOf returns the Host of a thread; nil if it has none.
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
	helper  bool                  // it checks its limits itself, see helper.go
	began   time.Time             // time of the first check in this call
	base    int64                 // memory in use at that time
	stopped atomic.Pointer[error] // reason for which the watchdog stopped it
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
	// A function that is called for each row of a table makes many threads.
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

// LimitsOf returns the limits for code on a thread.
func LimitsOf(t *starlark.Thread) limits.Policy {
	if h := HostOf(t); h != nil {
		return h.opts.Limits
	}
	return limits.Policy{}.Whole()
}

// Host returns the host of the thread.
func (t *Thread) Host() *Host { return t.host }

// Halted reports that further calls will fail: the last one exceeded the step
// limit, or the host was cancelled.
func (t *Thread) Halted() bool { return t.limited || t.host.threads.cancelled.Load() != nil }

// Restart prepares t for another top-level call.
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

// Cancel stops all code of scripts, now and later; reason is in the error. It
// may be called from any goroutine.
func (h *Host) Cancel(reason string) { h.threads.cancel(reason) }

// Resume undoes Cancel, so that the REPL can continue after Ctrl-C.
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

// Stopped reports that the thread was cancelled or exceeded its step limit. The
// script must end, so the error must not be caught.
func Stopped(t *starlark.Thread) bool {
	h := HostOf(t)
	return h != nil && h.threads.cancelled.Load() != nil || limitReached(t)
}

const limitKey = "ppscript.thread"

func limitReached(t *starlark.Thread) bool {
	own, _ := t.Local(limitKey).(*Thread)
	return own != nil && (own.limited || own.stopped.Load() != nil)
}

// Call calls a script's function, such as main, under the step limit. The error
// is a *diag.Error.
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

// run executes code of a script on t. A Go panic in it is a bug of ppscript,
// and is reported as one, without a Go stack.
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
		err = *t.stopped.Load() // it was stopped at the end of the call
	}
	if err != nil {
		return nil, t.Explain(err)
	}
	return v, nil
}
