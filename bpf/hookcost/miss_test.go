package hookcost

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"ppscript/runtime/system/kernel"
	"ppscript/tests/testkit"
)

// comm is the name of the thread whose calls are counted.
const comm = "pp-skipped"

// few are calls that Go's runtime makes of its own accord, at most.
const few = 100

// What perf's event does not see of calls whose number is known is counted, where a program hangs at
// the tracepoint and a thread that changes a map shares the CPU. On a preemptible kernel there is
// such a loss (tests/vm TestEventsThatBPFHides), on others perf's event sees all.
func TestSkippedIsCounted(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	calls := numberOf(t, "raw_syscalls/sys_enter")
	event := openEvent(t, calls, `id == 110 && comm == "`+comm+`"`)
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.TracePoint, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 1), asm.Return()}})
	if err != nil {
		t.Fatal(err)
	}
	defer prog.Close()
	hook := openEvent(t, calls, "")
	if err := unix.IoctlSetInt(int(hook.Fd()), unix.PERF_EVENT_IOC_SET_BPF, prog.FD()); err != nil {
		t.Fatal(err)
	}
	w := WatchMisses([]int{int(event.Fd())})
	if w == nil || len(w.events[0].programs) == 0 {
		t.Fatal("got no programs at the tracepoint, want ours")
	}
	defer w.Close()
	rounds := 1000
	if testing.Short() {
		rounds = 50
	}
	var over atomic.Bool
	hammered := make(chan error)
	go func() { hammered <- hammer(&over) }()
	known := uint64(0)
	called := make(chan error)
	go func() {
		if err := onCPU0(); err != nil {
			called <- err
			return
		}
		name := fmt.Sprintf("/proc/self/task/%d/comm", syscall.Gettid())
		err := os.WriteFile(name, []byte(comm), 0)
		for ; err == nil && known < uint64(1000*rounds); known += 1000 {
			for range 1000 {
				unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
			}
			// Meanwhile the other thread has the CPU.
			time.Sleep(3 * time.Millisecond)
		}
		called <- err // the thread ends: nobody else is called so
	}()
	err = <-called
	over.Store(true)
	if err := <-hammered; err != nil || t.Failed() {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var counted [8]byte
	if _, err := event.Read(counted[:]); err != nil {
		t.Fatal(err)
	}
	n, lost := binary.NativeEndian.Uint64(counted[:]), w.Lost()
	fmt.Printf("known %d counted %d skipped %d\n", known, n, lost)
	if n > known+few || n+lost < known {
		t.Errorf("got %d events and %d skipped of %d", n, lost, known)
	}
	// What is gone is not forgotten, and not counted twice.
	hook.Close()
	if more := w.Lost(); more != 0 || w.reported != lost {
		t.Errorf("got %d more, %d in all when the program was gone; want %d", more, w.reported, lost)
	}
}

// onCPU0 binds the thread of the goroutine, which ends with it.
func onCPU0() error {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(0)
	return unix.SchedSetaffinity(0, &set)
}

// hammer changes a map all the time, on CPU 0, and gives way to all others.
func hammer(over *atomic.Bool) error {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Hash, KeySize: 4, ValueSize: 4096, MaxEntries: 4096})
	if err != nil {
		return err
	}
	defer m.Close()
	if err := onCPU0(); err != nil {
		return err
	}
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), 19); err != nil {
		return err
	}
	value := make([]byte, 4096)
	for i := uint32(0); !over.Load(); i++ {
		if err := m.Put(i%2048, value); err != nil {
			return err
		}
	}
	return nil
}

// numberOf returns the number of a tracepoint, SYSTEM/NAME.
func numberOf(t *testing.T, tracepoint string) uint64 {
	t.Helper()
	mounts, err := kernel.ReadMounts(kernel.Roots{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(mounts.Tracefs, "events", tracepoint, "id"))
	if err != nil {
		t.Fatal(err)
	}
	id, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// openEvent counts the hits of a tracepoint on CPU 0.
func openEvent(t *testing.T, tracepoint uint64, filter string) *os.File {
	t.Helper()
	a := unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: tracepoint, Sample: 1,
		Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}
	fd, err := unix.PerfEventOpen(&a, -1, 0, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err == nil && filter != "" {
		err = unix.IoctlSetString(fd, unix.PERF_EVENT_IOC_SET_FILTER, filter)
	}
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "event")
	t.Cleanup(func() { f.Close() })
	return f
}
