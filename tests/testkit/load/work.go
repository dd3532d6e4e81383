package main

import (
	"errors"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A job is the work of each worker; see the package comment.
type job struct {
	getppid, fail, sleep, turns, fault, paths, spinMS int

	name string // file that fail opens
	comm string // of the thread
	jumping
	system
}

// jumping is the duration of the calls whose rate jumps; keys is the number of
// their keys.
type jumping struct {
	jumps      time.Duration
	keys, seed int
	counts     string
}

// A worker is a thread on one CPU, and an echo: the other end of its switches.
type worker struct {
	job
	begin chan struct{}
	done  chan error
	there [2]int // pipes between worker and echo
	back  [2]int
	cpu   int
}

// newWorker starts the threads of a worker; it returns when they are pinned.
func newWorker(j job, cpu, index int) (*worker, error) {
	w := &worker{job: j, cpu: cpu, begin: make(chan struct{}), done: make(chan error)}
	if err := errors.Join(unix.Pipe2(w.there[:], unix.O_CLOEXEC),
		unix.Pipe2(w.back[:], unix.O_CLOEXEC)); err != nil {
		return nil, err
	}
	ready := make(chan error)
	go func() {
		err := pin(cpu, fmt.Sprintf("%s-%d", j.comm, index))
		ready <- err
		for err == nil {
			<-w.begin
			w.done <- w.work()
		}
	}()
	if err := <-ready; err != nil {
		return nil, err
	}
	go func() {
		err := pin(cpu, fmt.Sprintf("echo-%d", index))
		ready <- err
		if err == nil {
			w.echo()
		}
	}()
	return w, <-ready
}

// pin binds the goroutine to a thread, and that to a CPU.
func pin(cpu int, name string) error {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("move to CPU %d: %w", cpu, err)
	}
	text, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(text)), 0, 0, 0)
}

func (w *worker) work() error {
	for i := range w.getppid {
		unix.RawSyscallNoError(unix.SYS_GETPPID, uintptr(i), 0, 0)
	}
	for range w.fail {
		if _, err := unix.Openat(unix.AT_FDCWD, w.name, unix.O_RDONLY, 0); !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("open a file that is not there: got %v", err)
		}
	}
	for range w.sleep {
		ts := unix.Timespec{Nsec: 200_000}
		if err := unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil); err != nil &&
			!errors.Is(err, unix.EINTR) {
			return err
		}
	}
	for range w.turns {
		if err := w.turn(); err != nil {
			return err
		}
	}
	if err := touch(w.fault); err != nil {
		return err
	}
	paths(w.paths)
	for end := time.Now().Add(time.Duration(w.spinMS) * time.Millisecond); time.Now().Before(end); {
	}
	if w.jumps > 0 {
		if err := w.jump(); err != nil {
			return err
		}
	}
	return w.use()
}

// turn sends a byte and waits for it to come back.
func (w *worker) turn() error {
	var b [1]byte
	if _, err := unix.Write(w.there[1], b[:]); err != nil {
		return err
	}
	_, err := unix.Read(w.back[0], b[:])
	return err
}

func (w *worker) echo() {
	var b [1]byte
	for {
		_, err := unix.Read(w.there[0], b[:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return
		}
		if _, err := unix.Write(w.back[1], b[:]); err != nil {
			return
		}
	}
}

// touch makes pages appear one by one, each by a fault of its own.
func touch(pages int) error {
	if pages == 0 {
		return nil
	}
	size := unix.Getpagesize()
	mem, err := unix.Mmap(-1, 0, pages*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	if err := unix.Madvise(mem, unix.MADV_NOHUGEPAGE); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	for i := range pages {
		mem[i*size] = 1
	}
	return unix.Munmap(mem)
}
