package main

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// This file marks spans of vCPUs and tells the truth of them, in the form of tests/why.

// marked is the argument of the system calls that mark begins and ends, which fail at once.
const marked = 0x77000000

// A span is a time of the calling thread.
type span struct {
	name       string
	at         time.Time
	cpu, delay int64 // ns
}

// beginSpan begins one of the calling thread, which has that name.
func beginSpan(name string) *span {
	account() // what is done for the first time takes longer
	s := &span{name: name, at: time.Now()}
	_, _, _ = unix.RawSyscall(unix.SYS_GETPGID, marked, 0, 0)
	s.cpu, s.delay = account()
	return s
}

// account is for how long the thread had a CPU, and wanted one, in ns: /proc/PID/schedstat.
func account() (cpu, delay int64) {
	// Package os would make an epoll instance first.
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

// end ends a span and prints its truth. The guest runs in a system call; a part of the thread's time on its
// CPU is the monitor's, and interrupts are told apart from both.
func (s *span) end() {
	cpu, delay := account()
	_, _, _ = unix.RawSyscall(unix.SYS_GETSID, marked, 0, 0)
	cpu, delay = cpu-s.cpu, delay-s.delay
	const part = `{"kind":%q,"chain":%q,"least":%d,"most":%d}`
	fmt.Printf(`{"name":%q,"tid":%d,"ns":%d,"parts":[`+part+","+part+"]}\n", s.name, unix.Gettid(),
		time.Since(s.at).Nanoseconds(), "runnable behind", s.name, delay, delay,
		"system call", s.name, cpu/2, cpu)
}
