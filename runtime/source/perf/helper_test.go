package perf

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/system/workload"
	"ppscript/tests/testkit"

	"golang.org/x/sys/unix"
)

// helperMark as argv[0] makes the test binary a helper: a program that makes
// system calls on command, so that there is something exact to count.
const helperMark = "perf-test-helper"

func TestMain(m *testing.M) {
	workload.MaybeExecChild()
	if filepath.Base(os.Args[0]) == helperMark {
		helperMain(os.Args[1:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// helperMain reads commands from stdin and answers each with a line:
//
//	call N    getppid N times on the main thread
//	thread N  the same on a thread made for it, which then ends
//	fork N    the same in a child process, which then ends
//	pool N    begin to make N threads that stay
//	pooled N  when all are there, getppid N times on each of them
//	comm S    take that name
//	exit      end
func helperMain(args []string) {
	runtime.LockOSThread()
	pin(0)
	pool.calls = make(chan string)
	if len(args) > 0 {
		helperDo(strings.Join(args, " "))
		return
	}
	fmt.Println("tid", unix.Gettid())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if in.Text() == "exit" {
			return
		}
		helperDo(in.Text())
		fmt.Println("done")
	}
}

func helperDo(cmd string) {
	verb, arg, _ := strings.Cut(cmd, " ")
	n, _ := strconv.Atoi(arg)
	switch verb {
	case "call":
		for range n {
			unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
		}
	case "thread":
		var wg sync.WaitGroup
		wg.Go(func() {
			runtime.LockOSThread() // and never unlock: the thread ends with us
			helperDo("call " + arg)
		})
		wg.Wait()
	case "fork":
		c := exec.Command("/proc/self/exe")
		c.Args = []string{helperMark, "call", arg}
		if out, err := c.CombinedOutput(); err != nil {
			fmt.Println("fork:", err, string(out))
		}
	case "pool":
		for range n {
			pool.ready.Add(1)
		}
		go func() {
			for range n {
				go func() {
					runtime.LockOSThread()
					pool.ready.Done()
					for calls := range pool.calls {
						helperDo("call " + calls)
						pool.done.Done()
						pool.hold.Wait() // so that each gets one
					}
				}()
				time.Sleep(300 * time.Microsecond)
			}
		}()
		pool.size = n
	case "pooled":
		pool.ready.Wait()
		pool.hold.Add(1)
		pool.done.Add(pool.size)
		for range pool.size {
			pool.calls <- arg
		}
		pool.done.Wait()
		pool.hold.Done()
	case "comm":
		os.WriteFile(fmt.Sprintf("/proc/self/task/%d/comm", unix.Gettid()), []byte(arg), 0)
	}
}

var pool struct {
	size              int
	ready, done, hold sync.WaitGroup
	calls             chan string
}

func pin(cpu int) {
	var set unix.CPUSet
	set.Set(cpu)
	unix.SchedSetaffinity(0, &set)
}

// A helper is a running helper process, its calling thread pinned to CPU 0.
type helper struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	pid int
	tid int
}

func startHelper(t testing.TB) *helper {
	t.Helper()
	h := &helper{t: t, cmd: exec.Command("/proc/self/exe")}
	h.cmd.Args = []string{helperMark}
	h.cmd.Stderr = os.Stderr
	var err error
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	h.out = bufio.NewScanner(out)
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.stop)
	h.pid = h.cmd.Process.Pid
	if !h.out.Scan() {
		t.Fatal("helper did not start")
	}
	fmt.Sscanf(h.out.Text(), "tid %d", &h.tid)
	return h
}

func (h *helper) do(format string, args ...any) {
	h.t.Helper()
	fmt.Fprintf(h.in, format+"\n", args...)
	if !h.out.Scan() || h.out.Text() != "done" {
		h.t.Fatalf("helper: got %q", h.out.Text())
	}
}

// stop ends the helper and waits for it; it may be called twice.
func (h *helper) stop() {
	if h.in != nil {
		h.in.Close()
		h.cmd.Wait()
		h.in = nil
	}
}

// needRoot skips the test unless this process may trace and tracefs is mounted.
func needRoot(t testing.TB) {
	t.Helper()
	testkit.Requires(t, testkit.Live...)
}

const tracefsRoot = "/sys/kernel/tracing"

// tracepoint is a schema with the id and the fields' names, which is all that
// this package reads of one.
func tracepoint(t testing.TB, name string, fields ...string) *event.Schema {
	t.Helper()
	sys, ev, _ := strings.Cut(name, ":")
	b, err := os.ReadFile(filepath.Join(tracefsRoot, "events", sys, ev, "id"))
	testkit.Requires(t, testkit.Core("tracepoint "+name, err))
	id, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	s := &event.Schema{System: sys, Name: ev, ID: id, Type: unix.PERF_TYPE_TRACEPOINT}
	for _, f := range fields {
		s.Fields = append(s.Fields, event.Field{Name: f, Size: 8, Signed: true})
	}
	return s
}

// getppid is the event of the helper's calls, of this thread or any.
func getppid(t testing.TB, tid int) EventConfig {
	filter := fmt.Sprintf("id == %d", unix.SYS_GETPPID)
	if tid > 0 {
		filter += fmt.Sprintf(" && common_pid == %d", tid)
	}
	return EventConfig{Schema: tracepoint(t, "raw_syscalls:sys_enter", "id"), Filter: filter}
}

// A tally counts the events of a drained source.
type tally struct {
	samples  map[int]int // by stream index
	byTID    map[int32]int
	side     []any // other records, as the accessors decode them
	lost     int
	backward int // samples older than their predecessor in the ring
}

func openSource(t testing.TB, cfg Config) *Source {
	t.Helper()
	s, err := Open(context.Background(), cfg)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// drain stops the source and reads the rest.
func drain(t testing.TB, s *Source) tally {
	t.Helper()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	return readAll(t, s)
}

// readAll reads until the end of the source.
func readAll(t testing.TB, s *Source) tally {
	t.Helper()
	c := tally{samples: map[int]int{}, byTID: map[int32]int{}}
	batch := make([]event.Event, 64)
	last := map[int32]event.Time{}
	for end := time.Now().Add(20 * time.Second); ; {
		err := s.Poll(context.Background(), time.Second)
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		for _, r := range s.Rings() {
			known, visible := r.Bounds()
			if known > visible {
				t.Errorf("known %d, visible %d", known, visible)
			}
			for n := len(batch); n == len(batch); {
				n = r.Read(batch, visible)
				for i := range batch[:n] {
					c.add(&batch[i], last)
				}
			}
			if r.Pos() != visible {
				t.Errorf("position %d after reading all, want %d", r.Pos(), visible)
			}
			r.Release()
		}
		if err != nil {
			return c
		}
		if time.Now().After(end) {
			t.Fatal("the source does not end")
		}
	}
}

func (c *tally) add(e *event.Event, last map[int32]event.Time) {
	if e.Time < last[e.Ring] {
		c.backward++
	}
	last[e.Ring] = e.Time
	if e.Kind == event.Sample {
		c.samples[e.Stream.Index]++
		c.byTID[e.TID]++
		return
	}
	if l, ok := decodeLost(e); ok {
		c.lost += int(l.Count)
	}
	c.side = append(c.side, decodeAll(e)...)
}

func contextAfter(t testing.TB, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}
