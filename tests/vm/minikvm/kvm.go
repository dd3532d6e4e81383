package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file uses /dev/kvm. The numbers are those of linux/kvm.h on x86.

const (
	kvmGetAPIVersion       = 0xae00
	kvmCreateVM            = 0xae01
	kvmGetVCPUMmapSize     = 0xae04
	kvmCreateVCPU          = 0xae41
	kvmSetUserMemoryRegion = 0x4020ae46
	kvmRun                 = 0xae80
	kvmGetClock            = 0x8030ae7c
	kvmSetRegs             = 0x4090ae82
	kvmGetSregs            = 0x8138ae83
	kvmSetSregs            = 0x4138ae84
)

// Reasons of struct kvm_run.
const (
	exitIO   = 2
	exitHLT  = 5
	exitMMIO = 6
	exitIntr = 10
)

// exitReasonOffset is where struct kvm_run has exit_reason.
const exitReasonOffset = 8

// userspaceMemoryRegion must match struct kvm_userspace_memory_region.
type userspaceMemoryRegion struct {
	slot, flags                              uint32
	guestPhysAddr, memorySize, userspaceAddr uint64
}

// regs must match struct kvm_regs of x86.
type regs struct {
	general [16]uint64 // rax to r15
	rip     uint64
	rflags  uint64
}

// segment must match struct kvm_segment of x86; sregs must match the start and
// the size of struct kvm_sregs.
type segment struct {
	base     uint64
	limit    uint32
	selector uint16
	rest     [10]byte
}

type sregs struct {
	cs   segment
	rest [312 - 24]byte
}

type machine struct {
	kvm, vm int
	memory  []byte
	runSize int
}

// newVM makes a machine with one page of memory, at the start of which is the
// code.
func newVM(code []byte) (*machine, error) {
	m := &machine{vm: -1}
	var err error
	if m.kvm, err = unix.Open("/dev/kvm", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return nil, fmt.Errorf("open /dev/kvm: %w", err)
	}
	if err := m.build(code); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

func (m *machine) build(code []byte) (err error) {
	version, err := ioctl(m.kvm, kvmGetAPIVersion, 0)
	if err != nil || version != 12 {
		return fmt.Errorf("KVM API version: got %d, %v, want 12", version, err)
	}
	if m.runSize, err = ioctl(m.kvm, kvmGetVCPUMmapSize, 0); err != nil {
		return fmt.Errorf("get size of kvm_run: %w", err)
	}
	if m.vm, err = ioctl(m.kvm, kvmCreateVM, 0); err != nil {
		m.vm = -1
		return fmt.Errorf("create VM: %w", err)
	}
	page := os.Getpagesize()
	if m.memory, err = unix.Mmap(-1, 0, page, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED|unix.MAP_ANONYMOUS); err != nil {
		return fmt.Errorf("map guest memory: %w", err)
	}
	copy(m.memory, code)
	region := userspaceMemoryRegion{
		memorySize: uint64(page), userspaceAddr: uint64(uintptr(unsafe.Pointer(&m.memory[0]))),
	}
	if _, err := ioctl(m.vm, kvmSetUserMemoryRegion, uintptr(unsafe.Pointer(&region))); err != nil {
		return fmt.Errorf("give memory to the VM: %w", err)
	}
	return nil
}

// close releases everything; the end of the process would do this too, so
// errors do not matter.
func (m *machine) close() {
	if m.vm >= 0 {
		unix.Close(m.vm)
	}
	if m.memory != nil {
		unix.Munmap(m.memory)
	}
	unix.Close(m.kvm)
}

// runVCPU runs one vCPU on a thread of its own until it has done its job.
func (m *machine) runVCPU(index int, j job) (counts, error) {
	// Not unlocked: the thread ends with the goroutine, and its name with it.
	runtime.LockOSThread()
	var c counts
	name := fmt.Sprintf("vcpu %d", index)
	text, err := unix.BytePtrFromString(name)
	if err != nil {
		return c, err
	}
	if err := unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(text)), 0, 0, 0); err != nil {
		return c, fmt.Errorf("name the thread: %w", err)
	}
	fd, err := ioctl(m.vm, kvmCreateVCPU, uintptr(index))
	if err != nil {
		return c, fmt.Errorf("create: %w", err)
	}
	defer unix.Close(fd)
	shared, err := unix.Mmap(fd, 0, m.runSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return c, fmt.Errorf("map kvm_run: %w", err)
	}
	defer unix.Munmap(shared)
	if err := startAtZero(fd); err != nil {
		return c, err
	}
	if j.mark > 0 {
		defer beginSpan(name).end()
	}
	until := time.Now().Add(j.mark)
	for c.io < j.ports && (j.mark == 0 || time.Now().Before(until)) {
		if _, err := ioctl(fd, kvmRun, 0); err != nil && !errors.Is(err, unix.EINTR) &&
			!errors.Is(err, unix.EAGAIN) {
			return c, fmt.Errorf("run: %w", err)
		} else if err != nil {
			continue // a signal of the Go runtime
		}
		switch reason := binary.NativeEndian.Uint32(shared[exitReasonOffset:]); reason {
		case exitIO:
			c.io++
			if j.clock {
				if err := m.tellTime(); err != nil {
					return c, err
				}
			}
			if j.slow > 0 && c.io%j.slow == 0 {
				time.Sleep(500 * time.Microsecond)
			}
		case exitMMIO:
			c.mmio++
		case exitHLT:
			c.hlt++
		case exitIntr:
			c.other++
		default:
			return c, fmt.Errorf("got exit reason %d after %v", reason, c)
		}
	}
	return c, nil
}

// tellTime makes a system call with the time on the guest's clock, for tracers.
func (m *machine) tellTime() error {
	var now struct { // must match struct kvm_clock_data
		clock uint64
		rest  [40]byte
	}
	if _, err := ioctl(m.vm, kvmGetClock, uintptr(unsafe.Pointer(&now))); err != nil {
		return fmt.Errorf("get clock: %w", err)
	}
	_, _, _ = unix.RawSyscall(unix.SYS_GETPPID, uintptr(now.clock), 0, 0)
	return nil
}

// startAtZero points the vCPU at address 0 in real mode.
func startAtZero(fd int) error {
	var s sregs
	if _, err := ioctl(fd, kvmGetSregs, uintptr(unsafe.Pointer(&s))); err != nil {
		return fmt.Errorf("get segments: %w", err)
	}
	s.cs.base, s.cs.selector = 0, 0
	if _, err := ioctl(fd, kvmSetSregs, uintptr(unsafe.Pointer(&s))); err != nil {
		return fmt.Errorf("set segments: %w", err)
	}
	const alwaysOne = 2 // bit 1 of rflags
	r := regs{rflags: alwaysOne}
	if _, err := ioctl(fd, kvmSetRegs, uintptr(unsafe.Pointer(&r))); err != nil {
		return fmt.Errorf("set registers: %w", err)
	}
	return nil
}

func ioctl(fd int, request, arg uintptr) (int, error) {
	n, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, arg)
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
