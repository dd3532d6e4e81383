package perf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/diag"
)

// This file starts a command and holds it until its events are attached.
//
// Go cannot run code between fork and exec, so the child is our own binary
// once more: MaybeExecChild, which main calls first, sees the mark in argv[0],
// waits for a byte on a pipe and executes the command. Events on the child are
// opened with enable_on_exec, so that nothing of the stub is counted, and the
// command's own execve and mappings are in the records.
//
// Tempting and wrong: ptrace stops the child after its exec, when the mappings
// are made, and is forbidden in many containers; SIGSTOP from the parent comes
// too late.

// A Workload is a command to start and observe. Zero members are inherited.
type Workload struct {
	Args                  []string // the command and its arguments
	Env                   []string // nil is our own environment
	Dir                   string
	Stdin, Stdout, Stderr *os.File // nil is our own
	// Openers is how many sources and counters attach to the command before
	// it runs; 0 is one. The last one lets it go.
	Openers int

	held     bool // the child waits for us
	attached int  // openers that are ready meanwhile
	path     string
	process  *os.Process
	tid      int      // the thread that will call execve
	hold     *os.File // a byte lets the child go; closing ends it
	report   *os.File // the child's tid, then errno if execve failed
	ended    chan struct{}
	state    *os.ProcessState
	waitErr  error
}

const (
	execMark = "ppscript-exec" // argv[0] of the held child
	holdFD   = 3               // the child reads it
	reportFD = 4               // the child writes it, closed by a good execve
)

// MaybeExecChild turns a process that Open started into the workload, and
// does not return then. The main function of every binary that opens
// workloads calls it first, while nothing else runs.
func MaybeExecChild() {
	if len(os.Args) < 3 || os.Args[0] != execMark {
		return
	}
	os.Exit(execChild(os.Args[1], os.Args[2:]))
}

func execChild(path string, args []string) int {
	// Exec by another thread than the main one gives it the main one's id;
	// the parent attaches to the thread that we say.
	runtime.LockOSThread()
	unix.CloseOnExec(holdFD)
	unix.CloseOnExec(reportFD)
	report := os.NewFile(reportFD, "report")
	fmt.Fprintln(report, unix.Gettid())
	var b [1]byte
	for {
		n, err := unix.Read(holdFD, b[:])
		if err == unix.EINTR {
			continue
		}
		if n != 1 {
			return 125 // the parent gave up
		}
		break
	}
	err := unix.Exec(path, args, os.Environ())
	if err == unix.ENOEXEC {
		// A script without #!, which shells and execvp run with sh.
		err = unix.Exec("/bin/sh", append([]string{"sh", path}, args[1:]...), os.Environ())
	}
	var errno syscall.Errno
	errors.As(err, &errno)
	fmt.Fprintln(report, int(errno))
	return 126
}

// find looks the command up as the shell would, before anything is started.
func (w *Workload) find() error {
	if len(w.Args) == 0 || w.Args[0] == "" {
		return diag.Errorf(diag.Usage, "start", "command", "none given").WithHint("give a command after --")
	}
	path, err := exec.LookPath(w.Args[0])
	if err == nil || errors.Is(err, exec.ErrDot) {
		w.path = path
		if !strings.Contains(path, "/") {
			w.path = "./" + path
		}
		return nil
	}
	var e *exec.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	return (&diag.Error{Op: "start", Subject: w.Args[0], Cause: err, Class: diag.Attach}).
		WithHint("check the name and the PATH with: command -v %s", w.Args[0])
}

// start makes the held child.
func (w *Workload) start() error {
	if w.held {
		return nil // another opener made it
	}
	if err := w.find(); err != nil {
		return err
	}
	fail := func(err error) error {
		return (&diag.Error{Op: "start", Subject: w.Args[0], Cause: err, Class: diag.Attach}).
			WithHint("check that /proc is mounted and that processes may be started: ulimit -u")
	}
	childHold, hold, err := os.Pipe()
	if err != nil {
		return fail(err)
	}
	defer childHold.Close()
	report, childReport, err := os.Pipe()
	if err != nil {
		hold.Close()
		return fail(err)
	}
	defer childReport.Close()
	w.hold, w.report, w.ended = hold, report, make(chan struct{})
	attr := &os.ProcAttr{
		Dir: w.Dir,
		Env: w.Env,
		Files: []*os.File{or(w.Stdin, os.Stdin), or(w.Stdout, os.Stdout), or(w.Stderr, os.Stderr),
			childHold, childReport},
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	}
	path := w.path
	if w.Dir != "" && !strings.HasPrefix(path, "/") {
		if path, err = absolute(path); err != nil {
			return fail(err)
		}
	}
	args := append([]string{execMark, path}, w.Args...)
	started := make(chan error)
	go w.own(attr, args, started)
	if err := <-started; err != nil {
		hold.Close()
		report.Close()
		return fail(err)
	}
	// The pipe's child end is closed only when start returns, so a child that
	// dies early would leave us reading: close it now.
	childReport.Close()
	if _, err := fmt.Fscanln(report, &w.tid); err != nil {
		w.kill()
		return fail(errors.New("the held child did not answer; main must call perf.MaybeExecChild first"))
	}
	w.held = true
	return nil
}

// own starts the child and waits for it, on one locked thread: Pdeathsig goes
// off when the thread that forked ends, not the process.
func (w *Workload) own(attr *os.ProcAttr, args []string, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p, err := os.StartProcess("/proc/self/exe", args, attr)
	if err != nil {
		started <- err
		return
	}
	w.process = p
	started <- nil
	w.state, w.waitErr = p.Wait()
	close(w.ended)
}

// PID is the process of the command, 0 before it is started.
func (w *Workload) PID() int {
	if w.process == nil {
		return 0
	}
	return w.process.Pid
}

// release lets the child execute the command, once all openers are ready, and
// reports if it cannot.
func (w *Workload) release() error {
	if w.attached++; w.attached < w.Openers {
		return nil
	}
	w.attached, w.held = 0, false
	if _, err := w.hold.Write([]byte{1}); err != nil {
		return &diag.Error{
			Op:      "start",
			Subject: w.Args[0],
			Cause:   fmt.Errorf("the held child is gone: %w", err),
			Class:   diag.Attach,
		}
	}
	w.hold.Close()
	var code int
	_, err := fmt.Fscanln(w.report, &code)
	w.report.Close()
	if errors.Is(err, io.EOF) {
		return nil // closed by execve
	}
	<-w.ended
	if err != nil {
		return &diag.Error{Op: "start", Subject: w.Args[0], Cause: err, Class: diag.Attach}
	}
	return (&diag.Error{Op: "start", Subject: w.Args[0], Cause: syscall.Errno(code), Class: diag.Attach}).
		WithHint("check that it is a program: file %s", w.path)
}

// kill ends the child if it still runs: politely, then not.
func (w *Workload) kill() {
	if w.process == nil {
		return
	}
	w.attached, w.held = 0, false
	w.hold.Close()
	w.report.Close()
	w.process.Signal(syscall.SIGTERM)
	select {
	case <-w.ended:
	case <-time.After(time.Second):
		w.process.Kill()
		<-w.ended
	}
}

// status is how the workload ended; ok is false while it runs.
func (w *Workload) status() (*os.ProcessState, bool) {
	if w.ended == nil {
		return nil, false
	}
	select {
	case <-w.ended:
		return w.state, w.state != nil
	default:
		return nil, false
	}
}

// ExitStatus is how a process ended, as a shell shows it: its status, or 128 and
// the signal, which is 0 if none ended it.
func ExitStatus(st *os.ProcessState) (status int, signal syscall.Signal) {
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), ws.Signal()
	}
	return st.ExitCode(), 0
}

func or(f, g *os.File) *os.File {
	if f != nil {
		return f
	}
	return g
}

func absolute(path string) (string, error) {
	wd, err := os.Getwd()
	return wd + "/" + path, err
}
