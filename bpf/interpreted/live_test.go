package interpreted

import (
	"errors"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"ppscript/bpf/features"
	"ppscript/runtime/system/kernel"

	"ppscript/tests/testkit"
)

func loaded(t *testing.T) *Run {
	t.Helper()
	host, err := features.Find(kernel.Roots{}, false)
	testkit.Requires(t, testkit.Root, testkit.Core("bpf", err))
	r, err := Open(host)
	if errors.Is(err, ErrUnknown) {
		testkit.Requires(t, testkit.Optional("types of the memory of threads", err))
	}
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// The verifier takes the program.
func TestLoads(t *testing.T) { loaded(t) }

// The program behind a front is called for each sample, also for other processes, where it finds nothing
// of the one before.
func TestFront(t *testing.T) {
	r := loaded(t)
	testkit.Requires(t, testkit.Samples)
	made := func(m *ebpf.MapSpec) *ebpf.Map {
		t.Helper()
		m.KeySize, m.ValueSize, m.MaxEntries = 4, 8, 1
		made, err := ebpf.NewMap(m)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = made.Close() })
		return made
	}
	found, calls := made(&ebpf.MapSpec{Type: ebpf.PerCPUArray}), made(&ebpf.MapSpec{Type: ebpf.Array})
	before := make([]uint64, 0)
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		t.Fatal(err)
	}
	for range cpus {
		before = append(before, 7)
	}
	if err := found.Put(uint32(0), before); err != nil {
		t.Fatal(err)
	}
	next, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "pps_next", Type: ebpf.PerfEvent, License: "GPL",
		Instructions: asm.Instructions{
			asm.StoreImm(asm.R10, -4, 0, asm.Word), asm.LoadMapPtr(asm.R1, found.FD()),
			asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, -4), asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "out"), asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord),
			asm.JNE.Imm(asm.R1, 0, "out"), // what was there before
			asm.LoadMapValue(asm.R1, calls.FD(), 0), asm.Mov.Imm(asm.R2, 1),
			asm.StoreXAdd(asm.R1, asm.R2, asm.DWord),
			asm.Mov.Imm(asm.R0, 1).WithSymbol("out"), asm.Return(),
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	fd, err := r.Front(next, found)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	attr := &unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK,
		Sample: 1e6, Bits: unix.PerfBitDisabled}
	attr.Size = uint32(unsafe.Sizeof(*attr))
	event, err := unix.PerfEventOpen(attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(event)
	if err := unix.IoctlSetInt(event, unix.PERF_EVENT_IOC_SET_BPF, fd); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetInt(event, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
		t.Fatal(err)
	}
	n := uint64(0)
	for end := time.Now().Add(10 * time.Second); n < 5 && time.Now().Before(end); {
		if err := calls.Lookup(uint32(0), &n); err != nil {
			t.Fatal(err)
		}
	}
	if n < 5 {
		t.Errorf("got %d calls of the program behind, want some", n)
	}
	if err := r.Fresh(func(int32, uint64) { t.Error("got a stack of Python") }); err != nil {
		t.Error(err)
	}
}
