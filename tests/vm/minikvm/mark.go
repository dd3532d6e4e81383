package main

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// This file marks spans of vCPUs and prints their true causes, in the form of
// tests/why.

// marked is the argument of the system calls that mark begins and ends of spans; these
// calls fail at once.
const marked = 0x77000000

// A span is a marked time of the calling thread.
type span struct {
	name       string
	at         time.Time
	cpu, delay int64 // ns
}

// beginSpan begins a span of the calling thread, which has this name.
func beginSpan(name string) *span {
	account() // the first call takes longer
	s := &span{name: name, at: time.Now()}
	_, _, _ = unix.RawSyscall(unix.SYS_GETPGID, marked, 0, 0)
	s.cpu, s.delay = account()
	return s
}

// account returns how long the thread had a CPU, and waited for one, in ns:
// /proc/PID/schedstat.
func account() (cpu, delay int64) {
	// Package os would create an epoll instance first.
	fd, err := unix.Open("/proc/thread-self/schedstat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, 0
	}
	defer unix.Close(fd)
	var text [64]byte
	n, _ := unix.Read(fd, text[:])
	fmt.Sscan(string(text[:max(0, n)]), &cpu, &delay)
	return cpu, delay
}

// end ends a span and prints its truth. The guest runs in a system call; a part of the thread's CPU
// time belongs to the monitor, and interrupts are separate from both.
func (s *span) end() {
	cpu, delay := account()
	_, _, _ = unix.RawSyscall(unix.SYS_GETSID, marked, 0, 0)
	cpu, delay = cpu-s.cpu, delay-s.delay
	const part = `{"kind":%q,"chain":%q,"least":%d,"most":%d}`
	fmt.Printf(`{"name":%q,"tid":%d,"ns":%d,"parts":[`+part+","+part+"]}\n", s.name, unix.Gettid(),
		time.Since(s.at).Nanoseconds(), "runnable behind", s.name, delay, delay,
		"system call", s.name, cpu/2, cpu)
}
