// Package hookcost measures the costs of programs beside their own run time: the time that a thread needs
// to reach a program at a tracepoint, a raw tracepoint or a probe (Costs), and to write a record of an event
// to a ring (Records). A program cannot measure this time itself. Package budget adds it to the time inside
// programs. Misses counts the events that other observers do not get, since programs are attached to the
// tracepoint; Hiding finds programs that hide events by the values that they return.
//
// A thread of this process makes cheap system calls, without a program and with a program that does
// nothing; the difference of the fastest rounds is the cost. Traced system calls take a longer way
// through the kernel, which is included, so for other events the cost is an upper bound.
package hookcost

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"ppscript/bpf/load"
	"ppscript/runtime/system/kernel"
)

// Costs are the costs of a hit beside its program, by the kind of hook. A hook
// is the mechanism that calls the program.
type Costs struct {
	Tracepoint, Raw, Probe time.Duration
	Clock                  time.Duration // of reading the time
}

// Costs that are not measured: a probe in user code is a trap, a sample is an interrupt.
const (
	UserProbe = 1500 * time.Nanosecond
	Sample    = 1500 * time.Nanosecond
)

// If a kind of hook cannot be measured, these are used: the costs on a slow
// machine.
const (
	slowTracepoint = 150 * time.Nanosecond
	slowRaw        = 80 * time.Nanosecond
	slowProbe      = 300 * time.Nanosecond
)

// Of is the cost of a hit of a program, beside the program's own time.
func (t *Costs) Of(p *load.Program) time.Duration {
	switch {
	case p.User:
		return UserProbe
	case p.Kind == ebpf.PerfEvent:
		return Sample
	}
	return *t.hook(p)
}

// hook is the measured cost of the kind of hook to which a program is attached.
func (t *Costs) hook(p *load.Program) *time.Duration {
	switch {
	case p.Kind == ebpf.Kprobe && p.Direct == nil:
		return &t.Probe
	case p.Kind == ebpf.TracePoint:
		return &t.Tracepoint
	}
	return &t.Raw
}

const (
	calls  = 100 // per round
	rounds = 20
)

// Measure measures the kinds of hooks to which the programs are attached. It takes a
// millisecond for each kind.
func Measure(programs []load.Program) Costs {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var t Costs
	needed := map[*time.Duration]bool{}
	for i := range programs {
		if p := &programs[i]; p.Event >= 0 && !p.User && p.Kind != ebpf.PerfEvent {
			needed[t.hook(p)] = true
		}
	}
	t = Costs{Tracepoint: slowTracepoint, Raw: slowRaw, Probe: slowProbe, Clock: clock()}
	for _, x := range []struct {
		kind   ebpf.ProgramType
		attach func(p *ebpf.Program) (func(), error)
		to     *time.Duration
	}{
		{ebpf.TracePoint, tracepoint, &t.Tracepoint},
		{ebpf.RawTracepoint, raw, &t.Raw},
		{ebpf.Kprobe, probe, &t.Probe},
	} {
		if !needed[x.to] {
			continue
		}
		if d, err := measure(x.kind, x.attach); err == nil {
			*x.to = d
		}
	}
	return t
}

// measure is the cost of a kind of hook. The program returns 1: if a program at a tracepoint
// returns 0, the kernel hides the hit from all other observers of the tracepoint through
// perf_event_open.
func measure(kind ebpf.ProgramType, attach func(*ebpf.Program) (func(), error)) (time.Duration, error) {
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "pps_toll", Type: kind, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 1), asm.Return()}})
	if err != nil {
		return 0, err
	}
	defer p.Close()
	without := fastest()
	detach, err := attach(p)
	if err != nil {
		return 0, err
	}
	with := fastest()
	detach()
	without = min(without, fastest())
	return max(with-without, 0), nil
}

// fastest is the time of a system call in the fastest round.
func fastest() time.Duration {
	best := time.Hour
	for range rounds {
		start := time.Now()
		for range calls {
			_, _, _ = syscall.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
		}
		best = min(best, time.Since(start))
	}
	return best / calls
}

// clock is the cost of reading the time.
func clock() time.Duration {
	best := time.Hour
	for range rounds {
		start := time.Now()
		for range calls {
			_ = time.Since(start)
		}
		best = min(best, time.Since(start))
	}
	return best / calls
}

func raw(p *ebpf.Program) (func(), error) {
	l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: "sys_enter", Program: p})
	if err != nil {
		return nil, err
	}
	return func() { _ = l.Close() }, nil
}

// sysEnter is the number of the tracepoint raw_syscalls:sys_enter.
func sysEnter() (uint64, error) {
	return firstNumber("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id",
		"/sys/kernel/debug/tracing/events/raw_syscalls/sys_enter/id")
}

func tracepoint(p *ebpf.Program) (func(), error) {
	id, err := sysEnter()
	if err != nil {
		return nil, err
	}
	return event(p, &unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: id,
		Bits: unix.PerfBitDisabled})
}

func probe(p *ebpf.Program) (func(), error) {
	kind, err := firstNumber("/sys/bus/event_source/devices/kprobe/type")
	if err != nil {
		return nil, err
	}
	name, ok := map[string]string{
		"amd64": "__x64_sys_getppid", "arm64": "__arm64_sys_getppid",
	}[runtime.GOARCH]
	if !ok {
		return nil, errors.ErrUnsupported
	}
	text, err := unix.BytePtrFromString(name)
	if err != nil {
		return nil, err
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(text)
	return event(p, &unix.PerfEventAttr{Type: uint32(kind), Ext1: uint64(uintptr(unsafe.Pointer(text))),
		Bits: unix.PerfBitDisabled, Sample: 1})
}

// event attaches the program to an event of perf.
func event(p *ebpf.Program, attr *unix.PerfEventAttr) (func(), error) {
	attr.Size = uint32(unsafe.Sizeof(*attr))
	fd, err := kernel.OnACPU(func(cpu int) (int, error) {
		return unix.PerfEventOpen(attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	})
	if err != nil {
		return nil, err
	}
	if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_BPF, p.FD()); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return func() { _ = unix.Close(fd) }, nil
}

// firstNumber reads a number from the first file that exists.
func firstNumber(paths ...string) (n uint64, err error) {
	for _, path := range paths {
		var b []byte
		if b, err = os.ReadFile(filepath.Clean(path)); err == nil {
			return strconv.ParseUint(strings.TrimSpace(string(b)), 10, 32)
		}
	}
	return 0, err
}
