// Package workload starts a command and holds it until its events are attached.
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
package workload

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

	"ppscript/runtime/text/diag"

	"golang.org/x/sys/unix"
)

// A Command is to be started and observed. Zero members are inherited.
type Command struct {
	Args                  []string // the command and its arguments
	Env                   []string // nil is our own environment
	Dir                   string
	Stdin, Stdout, Stderr *os.File // nil is our own
	// Openers is how many sources and counters attach to the command before
	// it runs; 0 is one. The last one lets it go.
	Openers int

	child child
}

// A child is the process that becomes the command.
type child struct {
	held     bool // it waits for us
	attached int  // openers that are ready meanwhile
	path     string
	process  *os.Process
	tid      int      // the thread that will call execve
	hold     *os.File // a byte lets the child go; closing ends it
	report   *os.File // the child's tid, then errno if execve failed
	ended    chan struct{}
	state    *os.ProcessState
	waitErr  error
	before   Times     // what the held child took before it became the command
	began    time.Time // the command was let go
	over     time.Time // it was waited for
}

const (
	execMark = "ppscript-exec" // argv[0] of the held child
	holdFD   = 3               // the child reads it
	reportFD = 4               // the child writes it, closed by a good execve
)

// MaybeExecChild turns a process that Start started into the workload, and
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
	// What we took until here is not the command's, whose exec keeps it.
	var own unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &own)
	fmt.Fprintln(report, unix.Gettid(), own.Utime.Nano(), own.Stime.Nano())
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
func (c *Command) find() error {
	if len(c.Args) == 0 || c.Args[0] == "" {
		return diag.Errorf(diag.Usage, "start", "command", "none given").WithHint("give a command after --")
	}
	path, err := exec.LookPath(c.Args[0])
	if err == nil || errors.Is(err, exec.ErrDot) {
		c.child.path = path
		if !strings.Contains(path, "/") {
			c.child.path = "./" + path
		}
		return nil
	}
	var e *exec.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	return (&diag.Error{Op: "start", Subject: c.Args[0], Cause: err, Class: diag.Attach}).
		WithHint("check the name and the PATH with: command -v %s", c.Args[0])
}

// Start makes the held child.
func (c *Command) Start() error {
	if c.child.held {
		return nil // another opener made it
	}
	if err := c.find(); err != nil {
		return err
	}
	fail := func(err error) error {
		return (&diag.Error{Op: "start", Subject: c.Args[0], Cause: err, Class: diag.Attach}).
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
	c.child.hold, c.child.report, c.child.ended = hold, report, make(chan struct{})
	attr := &os.ProcAttr{
		Dir: c.Dir,
		Env: c.Env,
		Files: []*os.File{or(c.Stdin, os.Stdin), or(c.Stdout, os.Stdout), or(c.Stderr, os.Stderr),
			childHold, childReport},
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	}
	path := c.child.path
	if c.Dir != "" && !strings.HasPrefix(path, "/") {
		if path, err = absolute(path); err != nil {
			return fail(err)
		}
	}
	args := append([]string{execMark, path}, c.Args...)
	started := make(chan error)
	go c.own(attr, args, started)
	if err := <-started; err != nil {
		hold.Close()
		report.Close()
		return fail(err)
	}
	// The pipe's child end is closed only when start returns, so a child that
	// dies early would leave us reading: close it now.
	childReport.Close()
	if _, err := fmt.Fscanln(report, &c.child.tid, &c.child.before.User, &c.child.before.System); err != nil {
		c.Kill()
		return fail(errors.New("the held child did not answer; main must call workload.MaybeExecChild first"))
	}
	c.child.held = true
	return nil
}

// own starts the child and waits for it, on one locked thread: Pdeathsig goes
// off when the thread that forked ends, not the process.
func (c *Command) own(attr *os.ProcAttr, args []string, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p, err := os.StartProcess("/proc/self/exe", args, attr)
	if err != nil {
		started <- err
		return
	}
	c.child.process = p
	started <- nil
	c.child.state, c.child.waitErr = p.Wait()
	c.child.over = time.Now()
	close(c.child.ended)
}

// PID is the process of the command, 0 before it is started.
func (c *Command) PID() int {
	if c.child.process == nil {
		return 0
	}
	return c.child.process.Pid
}

// TID is the thread of the held child that will execute the command.
func (c *Command) TID() int { return c.child.tid }

// Ended is closed when the command has ended, and its Status is there.
func (c *Command) Ended() <-chan struct{} { return c.child.ended }

// Signal passes a signal on. That the command has ended already is no error.
func (c *Command) Signal(sig os.Signal) error {
	if err := c.child.process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", c.Args[0], err)
	}
	return nil
}

// Release lets the child execute the command, once all openers are ready, and
// reports if it cannot.
func (c *Command) Release() error {
	if c.child.attached++; c.child.attached < c.Openers {
		return nil
	}
	c.child.attached, c.child.held = 0, false
	c.child.began = time.Now()
	if _, err := c.child.hold.Write([]byte{1}); err != nil {
		return &diag.Error{
			Op:      "start",
			Subject: c.Args[0],
			Cause:   fmt.Errorf("the held child is gone: %w", err),
			Class:   diag.Attach,
		}
	}
	c.child.hold.Close()
	var code int
	_, err := fmt.Fscanln(c.child.report, &code)
	c.child.report.Close()
	if errors.Is(err, io.EOF) {
		return nil // closed by execve
	}
	<-c.child.ended
	if err != nil {
		return &diag.Error{Op: "start", Subject: c.Args[0], Cause: err, Class: diag.Attach}
	}
	return (&diag.Error{Op: "start", Subject: c.Args[0], Cause: syscall.Errno(code), Class: diag.Attach}).
		WithHint("check that it is a program: file %s", c.child.path)
}

// Kill ends the child if it still runs: politely, then not.
func (c *Command) Kill() {
	if c.child.process == nil {
		return
	}
	c.child.attached, c.child.held = 0, false
	c.child.hold.Close()
	c.child.report.Close()
	c.child.process.Signal(syscall.SIGTERM)
	select {
	case <-c.child.ended:
	case <-time.After(time.Second):
		c.child.process.Kill()
		<-c.child.ended
	}
}

// Status is how the workload ended; ok is false while it runs.
func (c *Command) Status() (*os.ProcessState, bool) {
	if c.child.ended == nil {
		return nil, false
	}
	select {
	case <-c.child.ended:
		return c.child.state, c.child.state != nil
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
