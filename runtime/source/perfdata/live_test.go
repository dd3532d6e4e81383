package perfdata

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/source/tracefs"

	"ppscript/tests/testkit"
)

// calling is a thread of this process, on CPU 0, that makes system calls on
// command; the test counts exactly these.
type calling struct {
	tid  int
	todo chan int
	done chan struct{}
}

func startCalling(t *testing.T) *calling {
	c := &calling{todo: make(chan int), done: make(chan struct{})}
	ready := make(chan int)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with us
		var set unix.CPUSet
		set.Set(0)
		_ = unix.SchedSetaffinity(0, &set)
		ready <- unix.Gettid()
		for n := range c.todo {
			for range n {
				unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
			}
			c.done <- struct{}{}
		}
	}()
	c.tid = <-ready
	t.Cleanup(func() { close(c.todo) })
	return c
}

func (c *calling) calls(n int) {
	c.todo <- n
	<-c.done
}

// openLive opens the system calls of c, with records about tasks.
func openLive(t *testing.T, c *calling) *perf.Source {
	t.Helper()
	testkit.Requires(t, append(testkit.Live, testkit.Perf)...)
	fs, err := tracefs.Find()
	if err != nil {
		t.Fatal(err)
	}
	enter, err := fs.Schema("raw_syscalls", "sys_enter")
	if err != nil {
		t.Fatal(err)
	}
	exit, err := fs.Schema("raw_syscalls", "sys_exit")
	if err != nil {
		t.Fatal(err)
	}
	filter := fmt.Sprintf("common_pid == %d && id == %d", c.tid, unix.SYS_GETPPID)
	src, err := perf.Open(t.Context(), perf.Config{
		Events: []perf.EventConfig{
			{Schema: enter, Filter: filter, Payload: perf.Payload{Callchain: true}},
			{Schema: exit, Filter: filter, Label: "ret"},
		},
		Target:    perf.Target{CPUs: []int{0}},
		SideBand:  perf.SideBand{Comm: true, Mmap: true, Task: true},
		SampleCPU: true,
		// perf script prints callchains only of samples that have an IP.
		Members: []event.Member{event.MemberTime, event.MemberTID, event.MemberCPU, event.MemberIP},
	})
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// TestRecordLive checks that records of live rings that go into a file are the records that perf
// script reads from it.
func TestRecordLive(t *testing.T) {
	c := startCalling(t)
	src := openLive(t, c)
	defer src.Close()
	path := filepath.Join(t.TempDir(), "live.data")
	w, err := Create(path, WriteOptions{
		Cmdline: []string{"ppscript", "record"}, Version: "test", Tracefs: "",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range src.Opened() {
		info := StreamInfo{Attr: o.Attr, IDs: o.IDs, Name: "dummy"}
		if o.Stream != nil {
			info.Name, info.Schema = o.Stream.Label, o.Stream.Schema
		}
		if err := w.Add(info); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Synthesize([]int{os.Getpid()}); err != nil {
		t.Fatal(err)
	}
	const rounds, each = 5, 200
	var live []string
	dst := make([]event.Event, 64)
	for k := 0; err == nil; k++ {
		if k < rounds {
			c.calls(each)
		} else if err := src.Stop(); err != nil {
			t.Fatal(err)
		}
		err = src.Poll(t.Context(), 100*time.Millisecond)
		for _, r := range src.Rings() {
			_, visible := r.Bounds()
			for r.Pos() < visible {
				for _, e := range dst[:r.Read(dst, visible)] {
					if err := w.Write(e.Rec); err != nil {
						t.Fatal(err)
					}
					if e.Kind == event.Sample {
						live = append(live, fmt.Sprintf("%d/%d [%03d] %d.%09d: %s:", e.PID, e.TID, e.CPU,
							e.Time/1e9, e.Time%1e9, e.Stream.Label))
					}
				}
				r.Release()
			}
		}
		if err := w.FinishedRound(); err != nil {
			t.Fatal(err)
		}
	}
	if err != io.EOF {
		t.Fatal(err)
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	if len(live) != 2*rounds*each {
		t.Fatalf("got %d samples live, want %d", len(live), 2*rounds*each)
	}

	f, err := Open(path, Options{Ordered: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var read []string
	for _, e := range byTime(t, f) {
		if e.Kind == event.Sample {
			read = append(read, fmt.Sprintf("%d/%d [%03d] %d.%09d: %s:", e.PID, e.TID, e.CPU, e.Time/1e9,
				e.Time%1e9, e.Stream.Label))
		}
	}
	compare(t, "read again", read, live)

	for i, l := range live {
		live[i] = strings.Fields(fmt.Sprint(comm(t)))[0] + " " + l
	}
	compare(t, "perf script",
		squeeze(runPerf(t, "script", "-i", path, "--ns", "-F", "comm,pid,tid,cpu,time,event")), live)
	lines := squeeze(runPerf(t, "script", "-i", path, "--ns", "-F", "trace"))
	if want := fmt.Sprintf("NR %d (", unix.SYS_GETPPID); len(lines) == 0 ||
		!strings.HasPrefix(lines[0], want) {
		t.Errorf("perf script prints fields: got %.3q, want %q", lines, want)
	}
	// The records of the kernel's text and of this process's mappings were
	// synthesized.
	chains := runPerf(t, "script", "-i", path, "-F", "ip,sym,dso")
	for _, want := range []string{"do_syscall_64", "perfdata.test)"} {
		if runtime.GOARCH == "amd64" && !strings.Contains(chains, want) {
			t.Errorf("no %s in the callchains: %.500s", want, chains)
		}
	}
}

func comm(t *testing.T) string {
	b, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}
