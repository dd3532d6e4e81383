package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"ppscript/runtime/script"
)

// A watch handles the signals of a run. The first SIGINT or SIGTERM asks for
// an orderly end: before events flow it stops the script, then it stops the
// session, which drains its rings and shows what it has. The second one ends
// the process at once; the kernel closes what is open. SIGUSR1 opens the output
// anew, SIGUSR2 asks for the state of the run.
type watch struct {
	host   *script.Host
	signal chan os.Signal
	done   chan struct{}
	dump   chan struct{} // somebody asks how the run stands
	stop   context.CancelFunc

	mu      sync.Mutex
	running bool
	caught  bool
	out     *output
	atExit  func()
}

// watchSignals starts to handle signals until close. The context ends with the
// first SIGINT or SIGTERM.
func watchSignals(host *script.Host) (context.Context, *watch) {
	ctx, stop := context.WithCancel(context.Background())
	w := &watch{host: host, signal: make(chan os.Signal, 8), done: make(chan struct{}), dump: make(chan struct{}, 1), stop: stop}
	signal.Notify(w.signal, os.Interrupt, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
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
				w.out.reopen()
			}
			w.mu.Unlock()
		case syscall.SIGUSR2:
			select {
			case w.dump <- struct{}{}:
			default: // it was asked for already
			}
		default:
			if w.interrupted(true) {
				w.mu.Lock()
				fn := w.atExit
				w.mu.Unlock()
				if fn != nil {
					fn()
				}
				os.Exit(exitInterrupted)
			}
			w.mu.Lock()
			if !w.running && w.host != nil {
				w.host.Cancel("interrupted")
			}
			w.mu.Unlock()
			w.stop()
		}
	}
}

// quit ends the run as SIGINT does.
func (w *watch) quit() {
	w.interrupted(true)
	w.stop()
}

// before has fn run before a second signal ends the process.
func (w *watch) before(fn func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.atExit = fn
}

// interrupted reports whether a signal to end came before, and notes one that
// comes now.
func (w *watch) interrupted(now bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.caught
	w.caught = w.caught || now
	return was
}

// blame is err, but if a signal made something fail that was not ready yet,
// the signal is all there is to say.
func (w *watch) blame(err error) error {
	if err != nil && w.interrupted(false) && errors.Is(err, context.Canceled) {
		return exitError(exitInterrupted)
	}
	return err
}

// run says that the session starts, with the output to open anew.
func (w *watch) run(out *output) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running, w.out = true, out
}

func (w *watch) close() {
	signal.Stop(w.signal)
	close(w.signal)
	<-w.done
	w.stop()
}
