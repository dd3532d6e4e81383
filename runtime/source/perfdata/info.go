package perfdata

import (
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// Info is a recording's description of itself: where, when and how it
// was made. Members that the recording lacks are zero.
type Info struct {
	Hostname   string
	OSRelease  string
	Version    string // of the program that recorded
	Arch       string // as uname -m
	CPUDesc    string
	CPUID      string
	CPUsOnline int
	CPUsAvail  int
	TotalMemKB uint64
	Cmdline    []string

	// FirstSample and LastSample are the times of the first and last
	// sample that perf saw; both 0 if it did not look.
	FirstSample, LastSample event.Time

	// Machine is features about the machine that nothing here reads: its CPUs,
	// memory nodes and PMUs, by their number, as they lie in the file.
	Machine map[int][]byte

	Clock    Clock
	BuildIDs []BuildID

	TraceDat   int  // version of a trace.dat; 0 if perf recorded
	Pipe       bool // the recording is a pipe's, not a file's
	Compressed bool
	Directory  bool // of files, one for each thread of perf

	// PageSize is the page size of the recorded machine, 0 if unknown.
	PageSize int
	// Printk maps addresses of kernel format strings to the strings, for
	// tracepoints that print them.
	Printk string
	// Kallsyms is the recorded machine's symbol table; perf leaves it empty.
	Kallsyms string
}

// Clock relates event.Time of a recording to the wall clock.
type Clock struct {
	// Set says that the events use clock ID and not perf's own clock.
	Set bool
	ID  int32
	// Resolution of the clock.
	Resolution time.Duration
	// Wall is the wall-clock time at the moment At; zero if unknown.
	Wall time.Time
	At   event.Time
}

// Monotonic reports that times of events are on CLOCK_MONOTONIC.
func (c *Clock) Monotonic() bool { return c.Set && c.ID == unix.CLOCK_MONOTONIC }

// A BuildID names one binary that the samples hit.
type BuildID struct {
	PID  int32 // -1 for the host, else the guest's
	ID   []byte
	Path string
	// Kernel says that the binary is the kernel or a module.
	Kernel bool
}
