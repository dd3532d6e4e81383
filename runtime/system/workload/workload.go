// Package workload starts a command and holds it until its events are attached.
//
// Go cannot run code between fork and exec, so the child first runs our own
// binary: MaybeExecChild, which main calls first, recognizes the mark in
// argv[0], waits for a byte on a pipe and executes the command. Events on the
// child are opened with enable_on_exec, so that nothing of the stub is counted,
// and the command's own execve and mappings are in the records.
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

// A Command is a command to start and observe. Zero members are inherited.
type Command struct {
	Args                  []string // the command and its arguments
	Env                   []string // nil means our own environment
	Dir                   string
	Stdin, Stdout, Stderr *os.File // nil means our own
	// Openers is the number of sources and counters that attach to the command
	// before it runs; 0 means one. The command runs when each of them has
	// called Release.
	Openers int

	child child
}

// A child is the process that becomes the command.
type child struct {
	held     bool // it waits for Release
	attached int  // openers that have called Release
	path     string
	process  *os.Process
	tid      int      // the thread that will call execve
	hold     *os.File // a byte releases the child; closing ends it
	report   *os.File // the child's tid, then errno if execve failed
	ended    chan struct{}
	state    *os.ProcessState
	waitErr  error
	before   Times     // CPU time of the child before the command ran
	began    time.Time // time of the release
	over     time.Time // time at which its end was noticed
}

const (
	execMark = "ppscript-exec" // argv[0] of the held child
	holdFD   = 3               // the child reads it
	reportFD = 4               // the child writes it; a successful execve closes it
)

// MaybeExecChild turns a process that was started by Start into the workload,
// and then does not return. The main function of every binary that opens
// workloads calls it first, while nothing else runs.
func MaybeExecChild() {
	if len(os.Args) < 3 || os.Args[0] != execMark {
		return
	}
	os.Exit(execChild(os.Args[1], os.Args[2:]))
}

func execChild(path string, args []string) int {
	// If another thread than the main one calls execve, it gets the id of the
	// main thread. The parent attaches to the thread that we report.
	runtime.LockOSThread()
	unix.CloseOnExec(holdFD)
	unix.CloseOnExec(reportFD)
	report := os.NewFile(reportFD, "report")
	// CPU time used so far does not belong to the command, but execve keeps it.
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
			return 125 // the parent does not want to run the command
		}
		break
	}
	err := unix.Exec(path, args, os.Environ())
	if err == unix.ENOEXEC {
		// A script without #!; shells and execvp run it with sh.
		err = unix.Exec("/bin/sh", append([]string{"sh", path}, args[1:]...), os.Environ())
	}
	var errno syscall.Errno
	errors.As(err, &errno)
	fmt.Fprintln(report, int(errno))
	return 126
}

// find looks up the command like a shell, before anything is started.
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
		return nil // another opener started it
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
	// Close the child's end of the pipe now: if it were open until start
	// returns, reading from a child that died early would not end.
	childReport.Close()
	if _, err := fmt.Fscanln(report, &c.child.tid, &c.child.before.User, &c.child.before.System); err != nil {
		c.Kill()
		return fail(errors.New("the held child did not answer; main must call workload.MaybeExecChild first"))
	}
	c.child.held = true
	return nil
}

// own starts the child and waits for it, on one locked thread: Pdeathsig is
// sent when the forking thread ends, not the process.
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

// TID is the thread of the held child that will call execve.
func (c *Command) TID() int { return c.child.tid }

// Ended is closed when the command has ended and Status is valid.
func (c *Command) Ended() <-chan struct{} { return c.child.ended }

// Signal sends a signal to the command. It is no error if the command has
// already ended.
func (c *Command) Signal(sig os.Signal) error {
	if err := c.child.process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", c.Args[0], err)
	}
	return nil
}

// Release makes the child execute the command once all openers have called it,
// and returns the error if the child cannot.
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
		return nil // execve closed it: success
	}
	<-c.child.ended
	if err != nil {
		return &diag.Error{Op: "start", Subject: c.Args[0], Cause: err, Class: diag.Attach}
	}
	return (&diag.Error{Op: "start", Subject: c.Args[0], Cause: syscall.Errno(code), Class: diag.Attach}).
		WithHint("check that it is a program: file %s", c.child.path)
}

// Kill ends the child if it still runs, with SIGTERM first and then SIGKILL.
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

// Status is the exit status of the workload; ok is false while it runs.
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

// ExitStatus returns the status of an ended process as a shell shows it, which
// is 128 plus the signal if a signal ended it; signal is 0 otherwise.
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
