package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"ppscript/cmd/ppscript/recording/resultfile"
	"ppscript/cmd/ppscript/watchdog"
	"ppscript/runtime/script"
	"ppscript/runtime/session"
)

// A watch handles the signals of a run. SIGINT, SIGTERM, SIGHUP and SIGQUIT ask for an orderly end:
// before events flow they stop the script, later they stop the session, which drains its rings and
// shows its results. The same signal often comes twice, for example when timeout signals the
// process and its process group: signals within a second count as one. A later signal ends the
// process at once and prints what is lost; the kernel closes the events. If an orderly end hangs,
// the watchdog ends the process. SIGUSR1 reopens the output, SIGUSR2 asks for the state of the run.
type watch struct {
	app    *app
	host   *script.Host
	signal chan os.Signal
	done   chan struct{}
	dump   chan struct{} // the user asked for the state of the run
	reread chan struct{} // SIGHUP requests that a file is read again; nil: it ends the run
	stop   context.CancelFunc
	dog    watchdog.Watchdog
	limit  time.Duration // --duration; 0: none
	script *time.Timer   // stops the script's code if it still runs after that time; nil while no code runs
	closed bool

	mu      sync.Mutex
	running bool
	caught  time.Time // time of the first signal that asked for an end
	out     *resultfile.File
	atExit  func()
}

// sameWish is the time in which a second signal counts as a repetition of the first.
const sameWish = time.Second

// watchSignals handles signals until close is called. The first signal that asks for an end cancels the
// context.
func (a *app) watchSignals(host *script.Host) (context.Context, *watch) {
	return a.watchFor(host, nil)
}

// watchFor is watchSignals for runs that follow a file: SIGHUP says that it has changed.
func (a *app) watchFor(host *script.Host, reread chan struct{}) (context.Context, *watch) {
	ctx, stop := context.WithCancel(context.Background())
	w := &watch{
		app:    a,
		host:   host,
		signal: make(chan os.Signal, 8),
		done:   make(chan struct{}),
		dump:   make(chan struct{}, 1),
		reread: reread,
		stop:   stop,
	}
	w.dog.Hung = w.hung
	w.dog.At("start", false)
	list := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}
	if reread != nil || !signal.Ignored(syscall.SIGHUP) { // nohup ignores SIGHUP
		list = append(list, syscall.SIGHUP)
	}
	signal.Notify(w.signal, list...)
	a.watching.Store(true)
	go w.loop()
	return ctx, w
}

func (w *watch) loop() {
	defer close(w.done)
	for s := range w.signal {
		switch s {
		case syscall.SIGUSR1:
			w.mu.Lock()
			if w.out != nil {
				w.out.Reopen()
			}
			w.mu.Unlock()
		case syscall.SIGHUP:
			if w.reread == nil {
				w.end()
				continue
			}
			select {
			case w.reread <- struct{}{}:
			default: // a request is pending already
			}
		case syscall.SIGUSR2:
			select {
			case w.dump <- struct{}{}:
			default: // a request is pending already
			}
		default:
			w.end()
		}
	}
}

// end handles a signal that asks for an end.
func (w *watch) end() {
	w.mu.Lock()
	first := w.caught
	if first.IsZero() {
		w.caught = time.Now()
	}
	running := w.running
	w.mu.Unlock()
	switch {
	case first.IsZero():
		w.dog.End()
		if !running && w.host != nil {
			w.host.Cancel("interrupted")
		}
		w.stop()
	case time.Since(first) > sameWish:
		stage, _ := w.dog.Doing()
		w.abandon(exitInterrupted, fmt.Errorf("cut off by a second signal: %s", stage))
	}
}

// hung ends the process when an orderly end takes too long.
func (w *watch) hung(stage string, since time.Duration) {
	code := exitRun
	if _, begun := w.dog.Doing(); !begun && w.interrupted() {
		code = exitInterrupted
	}
	w.abandon(code, fmt.Errorf("cut off: it was asked to end, and made no progress for %s: %s",
		since.Round(100*time.Millisecond), stage))
}

// abandon ends the process without waiting for anything.
func (w *watch) abandon(code int, why error) {
	w.mu.Lock()
	fn := w.atExit
	w.mu.Unlock()
	if fn != nil {
		fn()
	}
	w.app.Report(why)
	w.app.scratch.remove()
	os.Exit(code)
}

// quit ends the run as SIGINT does.
func (w *watch) quit() { w.end() }

// before registers fn, which runs before the process is ended in the middle of its work.
func (w *watch) before(fn func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.atExit = fn
}

// interrupted reports whether a signal to end came.
func (w *watch) interrupted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.caught.IsZero()
}

// blame returns err, or the signal if that interrupted the start and so caused err.
func (w *watch) blame(err error) error {
	if err != nil && w.interrupted() && errors.Is(err, context.Canceled) {
		return exitError(exitInterrupted)
	}
	return err
}

// run records that the session starts. SIGUSR1 reopens out from then on.
func (w *watch) run(out *resultfile.File) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running, w.out = true, out
}

// Stages in which code of the script runs. At the end of a run, only the watchdog bounds such
// code.
const (
	inLoad = "load the script"
	inMain = "run the script's main"
)

// scriptGrace is how long code of a script may run on when --duration is over.
const scriptGrace = 5 * time.Second

// limitTo sets the duration of the run; 0: no limit.
func (w *watch) limitTo(limit time.Duration) {
	w.dog.LimitTo(limit)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit = limit
}

// bySamples says that --duration is a time of the recording, not of the wall clock.
func (w *watch) bySamples() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit = 0
}

// at sets the stage of the run. In a stage that runs the script's code, the code is stopped if it runs
// for longer than the run may last.
func (w *watch) at(stage string) {
	w.dog.At(stage, stage == session.Observing)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.script != nil {
		w.script.Stop()
		w.script = nil
	}
	if w.limit > 0 && w.host != nil && (stage == inLoad || stage == inMain || stage == session.Observing) {
		w.script = time.AfterFunc(w.limit+scriptGrace, func() {
			w.host.Cancel(fmt.Sprintf("it ran on for %s when --duration was over", scriptGrace))
		})
	}
}

func (w *watch) close() {
	if w.closed {
		return
	}
	w.closed = true
	w.dog.Close()
	w.mu.Lock()
	if w.script != nil {
		w.script.Stop()
	}
	w.mu.Unlock()
	w.app.watching.Store(false)
	signal.Stop(w.signal)
	close(w.signal)
	<-w.done
	w.stop()
}
