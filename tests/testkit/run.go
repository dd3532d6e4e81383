package testkit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// limit is the time limit of one run of a program. Tests take a second or two,
// on a busy machine ten times as long.
const limit = 90 * time.Second

// Output is the result of a program that has ended.
type Output struct {
	Args   []string
	Stdout string
	Stderr string
	Exit   int // the exit status; 128 and the signal if one ended it
	Took   time.Duration
	CPU    time.Duration // user and system time, also of children that it waited for
	// Peak is the most memory that was resident, in bytes; what was there before the program
	// itself began, of the process that started it, counts too.
	Peak int64
}

// Want checks the exit status and returns the output.
func (o Output) Want(t testing.TB, exit int) Output {
	t.Helper()
	if o.Exit != exit {
		t.Fatalf("%s: got exit status %d, want %d\nstdout: %s\nstderr: %s", strings.Join(o.Args, " "), o.Exit,
			exit, o.Stdout, o.Stderr)
	}
	return o
}

// Err returns the messages of a program that failed, otherwise nil.
func (o Output) Err() error {
	if o.Exit == 0 {
		return nil
	}
	return fmt.Errorf("%s: exit status %d: %s", strings.Join(o.Args, " "), o.Exit,
		strings.TrimSpace(o.Stderr))
}

// Run runs a program to its end.
func Run(t testing.TB, args ...string) Output {
	t.Helper()
	p := Start(t, args...)
	return p.Wait()
}

// A Process is a running program.
type Process struct {
	t      testing.TB
	args   []string
	cmd    *exec.Cmd
	cancel context.CancelFunc
	start  time.Time
	bound  time.Duration
	stdout buffer
	stderr buffer
	out    Output
	once   sync.Once
}

// Start starts a program, which is killed at the end of the test. Its messages
// are in English and its times in UTC.
func Start(t testing.TB, args ...string) *Process {
	t.Helper()
	return startWith(t, limit, nil, args...)
}

// StartFor is Start for a program that may run longer than a second or two.
func StartFor(t testing.TB, bound time.Duration, args ...string) *Process {
	t.Helper()
	return startWith(t, bound, nil, args...)
}

// StartPiped starts a command with pipes to the test; the test ends it.
func StartPiped(t testing.TB, cmd *exec.Cmd) (in io.WriteCloser, out io.ReadCloser) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err == nil {
		out, err = cmd.StdoutPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("start %s: %v", cmd.Path, err)
	}
	return in, out
}

func startWith(t testing.TB, bound time.Duration, prepare func(*exec.Cmd), args ...string) *Process {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	p := &Process{t: t, args: args, cancel: cancel, bound: bound, start: time.Now()}
	p.cmd = exec.CommandContext(ctx, args[0], args[1:]...)
	p.cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC", "NO_COLOR=1", "PERF_CONFIG="+perfConfig())
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	// A process group of its own, so that processes of a tracer end with it.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Cancel = func() error { return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }
	p.cmd.WaitDelay = 5 * time.Second
	if prepare != nil {
		prepare(p.cmd)
	}
	if err := p.cmd.Start(); err != nil {
		cancel()
		t.Fatalf("start %s: %v", args[0], err)
	}
	t.Cleanup(func() {
		p.cancel()
		p.Wait()
	})
	return p
}

// perfConfig is the path of perf's configuration in tests.
func perfConfig() string {
	return Path("tests/testkit/perfconfig")
}

// PID is the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal to the process alone.
func (p *Process) Signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("signal %s: %v", p.args[0], err)
	}
}

// Suspend stops the process until it gets SIGCONT; when Suspend returns, no
// thread of it runs.
func (p *Process) Suspend() {
	p.t.Helper()
	p.Signal(syscall.SIGSTOP)
	for deadline := time.Now().Add(limit); !suspended(p.PID()); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("%s: does not stop", p.args[0])
		}
	}
}

// Stutter stops and continues the process in turn, each time for this duration,
// until steady is called; then it goes on.
func (p *Process) Stutter(stops, goes time.Duration) (steady func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			p.cmd.Process.Signal(syscall.SIGSTOP)
			time.Sleep(stops)
			p.cmd.Process.Signal(syscall.SIGCONT)
			select {
			case <-end:
				return
			case <-time.After(goes):
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// suspended reports whether each thread of a process is stopped.
func suspended(pid int) bool {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if _, rest, _ := strings.Cut(string(text), ") "); err == nil && !strings.HasPrefix(rest, "T") {
			return false
		}
	}
	return len(files) > 0
}

// Stop asks the process to end, as Ctrl-C does, and waits for it.
func (p *Process) Stop() Output {
	p.t.Helper()
	p.Signal(syscall.SIGINT)
	return p.Wait()
}

// Wait waits for the end.
func (p *Process) Wait() Output {
	p.t.Helper()
	p.once.Do(func() {
		err := p.cmd.Wait()
		p.cancel()
		exit := p.cmd.ProcessState.ExitCode()
		if ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			exit = 128 + int(ws.Signal())
		}
		var status *exec.ExitError
		if errors.Is(err, exec.ErrWaitDelay) {
			p.t.Errorf("%s: ended, but a process that it started goes on and holds its output", p.args[0])
		} else if err != nil && !errors.As(err, &status) {
			p.t.Errorf("%s: %v", p.args[0], err)
		}
		p.out = Output{
			Args:   p.args,
			Stdout: p.stdout.String(),
			Stderr: p.stderr.String(),
			Exit:   exit,
			Took:   time.Since(p.start),
		}
		if usage, ok := p.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			p.out.CPU = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
			p.out.Peak = usage.Maxrss << 10
		}
		if time.Since(p.start) >= p.bound {
			p.t.Errorf("%s: did not end within %v; stderr: %s", strings.Join(p.args, " "),
				p.bound, p.out.Stderr)
		}
	})
	return p.out
}

// WaitStderr waits until the process has written word to stderr.
func (p *Process) WaitStderr(word string) {
	p.t.Helper()
	p.await(&p.stderr, word)
}

// WaitStderrTimes waits until the process has written word to stderr this
// often.
func (p *Process) WaitStderrTimes(word string, times int) {
	p.t.Helper()
	p.awaitOf(&p.stderr, fmt.Sprintf("%q %d times", word, times), func(text string) bool {
		return strings.Count(text, word) >= times
	})
}

// WaitStdout waits until the process has written word to stdout.
func (p *Process) WaitStdout(word string) {
	p.t.Helper()
	p.await(&p.stdout, word)
}

// Await waits until enough accepts the complete lines that the process has
// printed; what names the condition in the error if that never happens.
func (p *Process) Await(what string, enough func(stdout string) bool) {
	p.t.Helper()
	p.awaitOf(&p.stdout, what, func(text string) bool {
		return enough(text[:strings.LastIndexByte(text, '\n')+1])
	})
}

func (p *Process) await(b *buffer, word string) {
	p.t.Helper()
	p.awaitOf(b, strconv.Quote(word), func(text string) bool { return strings.Contains(text, word) })
}

func (p *Process) awaitOf(b *buffer, what string, enough func(string) bool) {
	p.t.Helper()
	over := false
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if enough(b.String()) {
			return
		}
		// The goroutine that reads the output of a process may be behind the process's end.
		if !over && ended(p.PID()) {
			over, deadline = true, time.Now().Add(time.Second)
		}
	}
	if !enough(b.String()) {
		p.t.Fatalf("%s: did not say %s\nstdout: %s\nstderr: %s", strings.Join(p.args, " "), what,
			p.stdout.String(), p.stderr.String())
	}
}

// ended reports that a process has ended, whether it was waited for or not. The state in /proc is not
// enough: a thread that executes another program makes the process a zombie until it has its number.
func ended(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == unix.ECHILD || err == nil && info.Signo != 0
}

// A buffer may be read while a process writes.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// Stderr returns the messages so far.
func (p *Process) Stderr() string { return p.stderr.String() }

// Stdout returns the output so far.
func (p *Process) Stdout() string { return p.stdout.String() }

// RunAs is Run as another user, without groups and, unless the program's file has
// some, without capabilities. The test is root.
func RunAs(t testing.TB, uid uint32, args ...string) Output {
	t.Helper()
	p := startWith(t, limit, func(cmd *exec.Cmd) {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uid, Gid: uid}
		cmd.Dir = "/"
	}, args...)
	return p.Wait()
}
