package kernel

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/runtime/system/privilege"
)

// This file tries events of the scheduler and of a cgroup.

// tryComm names the thread while its switches are counted: numbers of threads
// differ between a container and the kernel's filters.
const tryComm = "ppscript-try"

// trySwitches counts the switches to this thread while it sleeps repeatedly, on one CPU
// after the other. They are mostly from the idle task, whose switches are easily missed by
// tracing. It returns the outcome of the worst CPU. dir is the mount point of tracefs.
func trySwitches(dir string, cpus []int) Trial {
	id, err := tracepointID(dir, "sched/sched_switch")
	if err != nil {
		return Trial{Err: err}
	}
	if len(cpus) == 0 {
		return untried("no CPU is known to be online")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var fds []int
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	for _, cpu := range cpus {
		fd, err := countOn(id, cpu, `next_comm == "`+tryComm+`"`)
		if err != nil {
			return Trial{Err: err}
		}
		fds = append(fds, fd)
	}
	restore, err := rename(tryComm)
	if err != nil {
		return Trial{Err: err}
	}
	defer restore()
	var mine unix.CPUSet
	if err := unix.SchedGetaffinity(0, &mine); err != nil {
		return untried("ask for the CPUs of this thread: %w", err)
	}
	defer unix.SchedSetaffinity(0, &mine)
	hits := max(tryHits/len(cpus), 4)
	var worst Trial
	for _, cpu := range cpus {
		var one unix.CPUSet
		one.Set(cpu)
		if !mine.IsSet(cpu) || unix.SchedSetaffinity(0, &one) != nil {
			continue // this thread may not run there
		}
		t := sumSwitches(fds, hits)
		if t.Err != nil {
			return t
		}
		if worst.Where == "" || t.Delivered*worst.Hits < worst.Delivered*t.Hits {
			t.Where = "CPU " + strconv.Itoa(cpu)
			worst = t
		}
	}
	if worst.Where == "" {
		return untried("no CPU is for this thread")
	}
	return worst
}

// countOn counts the hits of a tracepoint on a CPU that pass a filter.
func countOn(id uint64, cpu int, condition string) (fd int, err error) {
	fd, err = unix.PerfEventOpen(&unix.PerfEventAttr{
		Type: unix.PERF_TYPE_TRACEPOINT, Config: id, Size: attrSize,
		Bits: unix.PerfBitDisabled, // disabled until it has its filter
	}, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return -1, err
	}
	filter, err := unix.BytePtrFromString(condition)
	if err == nil {
		err = ioctl(fd, unix.PERF_EVENT_IOC_SET_FILTER, unsafe.Pointer(filter))
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("set a filter: %w", err)
	}
	if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("enable: %w", err)
	}
	return fd, nil
}

// sumSwitches sleeps hits times, and adds up the counts of the events in that
// time.
func sumSwitches(fds []int, hits int) Trial {
	count := func() (sum int64, err error) {
		for _, fd := range fds {
			n, err := readCount(fd)
			if err != nil {
				return 0, err
			}
			sum += n
		}
		return sum, nil
	}
	old, err := count()
	if err != nil {
		return Trial{Err: err}
	}
	var before, after unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &before)
	for range hits {
		_ = unix.Nanosleep(&unix.Timespec{Nsec: 200_000}, nil)
	}
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &after)
	t := Trial{Hits: after.Nvcsw - before.Nvcsw}
	t.Least = t.Hits
	now, err := count()
	if err != nil {
		return Trial{Err: err}
	}
	t.Delivered = now - old
	return t
}

// rename gives this thread a name and returns a function that restores the old one.
func rename(comm string) (restore func(), err error) {
	var old, text [16]byte
	copy(text[:], comm)
	if err := unix.Prctl(unix.PR_GET_NAME, uintptr(unsafe.Pointer(&old)), 0, 0, 0); err != nil {
		return nil, fmt.Errorf("read the thread's name: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&text)), 0, 0, 0); err != nil {
		return nil, fmt.Errorf("name the thread: %w", err)
	}
	return func() { _ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&old)), 0, 0, 0) }, nil
}

// TryTracepoint counts system calls of this thread at their tracepoint.
func TryTracepoint(dir string) Trial {
	id, err := tracepointID(dir, "raw_syscalls/sys_enter")
	if err != nil {
		return Trial{Err: err}
	}
	return unlessDisturbed(func() Trial {
		return tally(unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: id}, tryHits, func() {
			callKernel(tryHits)
		})
	})
}

// unlessDisturbed repeats a try with missing hits, up to five times. If another
// tool has a program at the same event, the kernel drops a hit for all tools
// while that program cannot run on the CPU, because a task that reads a map was
// preempted there (trace_call_bpf in kernel/trace/bpf_trace.c, bpf_prog_active).
// That is temporary; an event that never delivers stays silent in all tries.
func unlessDisturbed(try func() Trial) Trial {
	for tries := 1; ; tries++ {
		t := try()
		if !t.Silent() || tries == 5 {
			return t
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// tryCgroup counts page faults of this process through the cgroup at the root of
// a hierarchy, to which every task belongs.
func tryCgroup(root string, cpus []int) Trial {
	if root == "" {
		return untried("no hierarchy that perf events can use")
	}
	if len(cpus) == 0 {
		return untried("no CPU is known to be online")
	}
	fd, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return untried("open %s: %w", root, err)
	}
	defer unix.Close(fd)
	var spots []spot
	for _, cpu := range cpus {
		spots = append(spots, spot{fd, cpu, unix.PERF_FLAG_PID_CGROUP})
	}
	return tryFaults(spots...)
}

// tryFaults counts page faults of this thread on several spots.
func tryFaults(spots ...spot) Trial {
	page := unix.Getpagesize()
	mem, err := unix.Mmap(-1, 0, tryHits*page, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return untried("map pages: %w", err)
	}
	defer unix.Munmap(mem)
	_ = unix.Madvise(mem, unix.MADV_NOHUGEPAGE)
	return tallyOn(unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_PAGE_FAULTS},
		tryHits, func() {
			for i := range tryHits {
				mem[i*page] = 1
			}
		}, spots...)
}

// tracepointID reads the number of an event from its directory below events/.
func tracepointID(dir, event string) (uint64, error) {
	text, err := privilege.ReadFile(privilege.Kernel, dir+"/events/"+event+"/id")
	if err != nil {
		return 0, err
	}
	id, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", dir, err)
	}
	return id, nil
}

func ioctl(fd int, request uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}

func addressOf(mem []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))) }
