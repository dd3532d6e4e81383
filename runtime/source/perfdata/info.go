package perfdata

import (
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// Info is the description in a recording: the machine, the time and the
// command. Members that the recording lacks are zero.
type Info struct {
	Hostname   string
	OSRelease  string
	Version    string // of the recording program
	Arch       string // in the form of uname -m
	CPUDesc    string
	CPUID      string
	CPUsOnline int
	CPUsAvail  int
	TotalMemKB uint64
	Cmdline    []string

	// FirstSample and LastSample are the times of the first and last sample;
	// both 0 if perf did not record them.
	FirstSample, LastSample event.Time

	// Machine has the unparsed features about CPUs, memory nodes and PMUs, by
	// number of the feature.
	Machine map[int][]byte

	Clock    Clock
	BuildIDs []BuildID

	TraceDat   int  // version of a trace.dat; 0 if perf recorded
	Pipe       bool // the recording is in pipe mode
	Compressed bool
	Directory  bool // the recording is a directory, with a file for each thread of perf

	// PageSize is the page size of the recorded machine, 0 if unknown.
	PageSize int
	// Printk maps addresses of kernel format strings to the strings, for
	// tracepoints that print them.
	Printk string
	// Kallsyms is the recorded machine's symbol table; perf leaves it empty.
	Kallsyms string
}

// Clock relates the times of events in a recording to the wall clock.
type Clock struct {
	// Set says that the times are on clock ID, not on perf's own clock.
	Set bool
	ID  int32
	// Resolution of the clock.
	Resolution time.Duration
	// Wall is the wall-clock time when the events' clock was At; zero if
	// unknown.
	Wall time.Time
	At   event.Time
}

// Monotonic reports that times of events are on CLOCK_MONOTONIC.
func (c *Clock) Monotonic() bool { return c.Set && c.ID == unix.CLOCK_MONOTONIC }

// A BuildID identifies a binary with code in the samples.
type BuildID struct {
	PID  int32 // -1 for the host, else the guest's
	ID   []byte
	Path string
	// Kernel says that the binary is the kernel or a module.
	Kernel bool
}
