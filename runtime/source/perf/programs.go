package perf

import "ppscript/runtime/record/sent"

// This file attaches the programs that send events, and adapts the attachment,
// since programs select the tasks.

// Programs has the functions that start and stop the programs of events with a
// Projection.
type Programs struct {
	// Records describes the records of derived events.
	Records []sent.Record
	// Buffer makes the BPF ring buffer of a CPU, of size bytes, and returns its
	// descriptor. The programs wake its reader when wake bytes wait.
	Buffer func(cpu, size, wake int) (fd int, err error)
	// Prompt makes each record in a buffer wake the reader.
	Prompt bool
	// Attach attaches the programs. It is called when the buffers can be read,
	// before a workload runs. root is the workload's process, 0 without one.
	Attach func(root int) error
	// Detach detaches the programs. After it has returned, they send no more
	// records.
	Detach func() error
	// Wake changes the number of waiting bytes at which the buffer of a CPU
	// wakes the reader; nil if it cannot be changed.
	Wake func(cpu, wake int) error
	// Untold returns the number of records that did not fit into the buffer of
	// a CPU and for which no record about the loss was sent so far.
	Untold func(cpu int) (uint64, error)
	// Late returns the descriptor and size of the buffer for texts that are read
	// when a system call ends (package latetext); false if there is none. May be
	// nil.
	Late func() (fd, size int, ok bool)
}

// projected reports that programs send the events.
func (c *Config) projected() bool {
	for i := range c.Events {
		if c.Events[i].Projection != nil {
			return true
		}
	}
	return false
}

// byPrograms changes an attachment to tasks to an attachment to CPUs, since the
// programs select the tasks.
func (c *Config) byPrograms(a *attachment, cpus []int) {
	if !c.projected() {
		return
	}
	a.inherit, a.thread = false, false
	a.places, a.rings = nil, nil
	for i, cpu := range cpus {
		a.rings = append(a.rings, ringKey{cpu, -1})
		a.places = append(a.places, place{pid: -1, cpu: cpu, ring: i})
	}
}

// attachPrograms starts the programs of projected events.
func (s *Source) attachPrograms() error {
	if s.cfg.Programs.Attach == nil {
		return nil
	}
	root := 0
	if s.tasks.workload != nil {
		root = s.tasks.workload.PID() // the thread that executes the command will have this number
	}
	return s.cfg.Programs.Attach(root)
}
