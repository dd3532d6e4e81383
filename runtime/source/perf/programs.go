package perf

import "ppscript/runtime/record/sent"

// This file attaches the programs that send events, and the tasks that they pick.

// Programs starts and stops the programs that send projected records.
type Programs struct {
	// Records are the records of operators in programs.
	Records []sent.Record
	// Buffer makes the BPF ring buffer of a CPU, of size bytes, and returns its
	// descriptor. The programs wake its reader when wake bytes wait.
	Buffer func(cpu, size, wake int) (fd int, err error)
	// Prompt has each record in a buffer wake the reader.
	Prompt bool
	// Attach is called when everything can be read and before a workload runs.
	// root is its process, 0 without one.
	Attach func(root int) error
	// Detach returns when nothing is sent any more.
	Detach func() error
	// Wake changes how many bytes have to wait in the buffer of a CPU; nil if
	// that cannot be changed.
	Wake func(cpu, wake int) error
	// Untold is how many records did not fit into the buffer of a CPU, of
	// which no record tells yet.
	Untold func(cpu int) (uint64, error)
	// Late is the buffer of texts that are read when a system call ends, and its
	// size; false, or nil, if there is none.
	Late func() (fd, size int, ok bool)
}

// projected reports that some event is sent by a program.
func (c *Config) projected() bool {
	for i := range c.Events {
		if c.Events[i].Projection != nil {
			return true
		}
	}
	return false
}

// byPrograms turns an attachment to tasks into one to CPUs: the programs pick
// the tasks.
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
		root = s.tasks.workload.PID() // also of another thread, once it executes the command
	}
	return s.cfg.Programs.Attach(root)
}
