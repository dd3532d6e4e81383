package kernel

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file tries events at a place in code or memory: breakpoints, uprobes and
// kprobes.

// tryHits is the number of hits that such a try makes.
const tryHits = 8

const breakpointWrite = 2 // HW_BREAKPOINT_W in include/uapi/linux/hw_breakpoint.h

// TryBreakpoint watches a word of this program and writes to it. With a
// hypervisor that hides the debug registers, the breakpoint opens but never
// fires.
func TryBreakpoint() Trial {
	return tryBreakpoint(func(word *int64) {
		for i := range int64(tryHits) {
			poke(word, i)
		}
	})
}

func tryBreakpoint(write func(word *int64)) Trial {
	word := new(int64) // Go does not move heap objects
	t := tally(unix.PerfEventAttr{Type: unix.PERF_TYPE_BREAKPOINT, Bp_type: breakpointWrite,
		Ext1: uint64(uintptr(unsafe.Pointer(word))), Ext2: uint64(unsafe.Sizeof(*word)),
		Bits: unix.PerfBitExcludeKernel}, tryHits, func() { write(word) })
	runtime.KeepAlive(word)
	return t
}

// poke is a write that the compiler does not remove.
//
//go:noinline
func poke(word *int64, v int64) { *word = v }

// TryUprobe puts a probe at a function of this program and calls it. Elapsed
// is the cost of a hit, which differs between hypervisors by a factor of 30.
func TryUprobe(r Roots) Trial {
	pmu, err := probePMU(r, "uprobe")
	if err != nil {
		return Trial{Err: err}
	}
	offset, err := ownOffset(r, reflect.ValueOf(poke).Pointer())
	if err != nil {
		return Trial{Err: err}
	}
	path := []byte("/proc/self/exe\x00")
	word := new(int64)
	const hits = 16 * tryHits // the first ones cost more
	t := tally(unix.PerfEventAttr{
		Type: pmu, Ext1: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(path)))), Ext2: offset,
	}, hits, func() {
		for i := range int64(hits) {
			poke(word, i)
		}
	})
	runtime.KeepAlive(path)
	return t
}

// ownOffset is the offset in the program's file of an address in its code.
func ownOffset(r Roots, pc uintptr) (uint64, error) {
	f, err := os.Open(r.ProcPath("self/maps"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		// START-END PERMISSIONS OFFSET DEVICE INODE FILE
		words := strings.Fields(lines.Text())
		if len(words) < 6 {
			continue
		}
		first, last, _ := strings.Cut(words[0], "-")
		start, err := strconv.ParseUint(first, 16, 64)
		end, errEnd := strconv.ParseUint(last, 16, 64)
		offset, errOffset := strconv.ParseUint(words[2], 16, 64)
		if err == nil && errEnd == nil && errOffset == nil && start <= uint64(pc) && uint64(pc) < end {
			return uint64(pc) - start + offset, nil
		}
	}
	return 0, fmt.Errorf("no file is mapped at %#x", pc)
}

// tryFunctions are the possible names of the kernel function for getppid.
var tryFunctions = [...]string{"__x64_sys_getppid", "__arm64_sys_getppid", "__se_sys_getppid", "sys_getppid"}

// TryKprobe puts a probe at a kernel function and calls it.
func TryKprobe(r Roots) Trial {
	pmu, err := probePMU(r, "kprobe")
	if err != nil {
		return Trial{Err: err}
	}
	var t Trial
	for _, name := range tryFunctions {
		text := append([]byte(name), 0)
		t = tally(unix.PerfEventAttr{
			Type: pmu, Ext1: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(text)))),
		}, tryHits, func() { callKernel(tryHits) })
		runtime.KeepAlive(text)
		if t.Err == nil || denied(t.Err) {
			break
		}
	}
	return t
}

// callKernel makes system calls without an effect.
func callKernel(n int) {
	for range n {
		unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
	}
}

func probePMU(r Roots, name string) (uint32, error) {
	pmus, err := ReadPMUs(r)
	if err != nil {
		return 0, err
	}
	pmu, ok := FindPMU(pmus, name)
	if !ok {
		return 0, fmt.Errorf("this kernel has no %s PMU: %w", name, unix.ENOENT)
	}
	return pmu.Type, nil
}

// RefusesUprobe asks the kernel whether it refuses a probe at an offset of an open file, whose path
// is path. The kernel reports an error only for code that some process has mapped; in code that is
// mapped later it silently leaves the probe out. So the page is mapped here for the test; nothing
// executes it. It returns the kernel's error; nil if the kernel accepts the probe, or if that
// cannot be found out.
func RefusesUprobe(pmu uint32, f *os.File, path string, offset uint64) error {
	page := uint64(os.Getpagesize())
	code, err := unix.Mmap(int(f.Fd()), int64(offset&^(page-1)), int(page), unix.PROT_READ|unix.PROT_EXEC,
		unix.MAP_PRIVATE)
	if err != nil {
		return nil // for example, files of this file system cannot be mapped
	}
	defer unix.Munmap(code)
	name := append([]byte(path), 0)
	attr := unix.PerfEventAttr{
		Type: pmu, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Bits: unix.PerfBitDisabled,
		Ext1: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(name)))), Ext2: offset,
	}
	fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	runtime.KeepAlive(name)
	switch {
	case err == nil:
		unix.Close(fd)
	case errors.Is(err, ENOTSUPP) || errors.Is(err, unix.ENOEXEC):
		return err
	}
	return nil
}
