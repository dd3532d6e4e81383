package session

import (
	"ppscript/runtime/plan"
	"ppscript/runtime/source/probe"
)

// A Confinement lists the rights that a run still needs after it has opened
// everything.
type Confinement struct {
	// Processes says that it reads mappings and memory of other processes.
	Processes bool
	// Files says that it reads executable files, for the names of functions.
	Files bool
	// Names says that it looks up cgroups, and asks services of the machine, over sockets,
	// for names.
	Names bool
	// Kernel says that it may read the kernel's memory: of breakpoints, and in callbacks.
	Kernel bool
	// Scratch says that it may put rows aside in temporary files.
	Scratch bool
}

// confine reports the rights that the run needs from now on.
func confine(r *run) error {
	if r.cfg.Confine == nil {
		return nil
	}
	// Explanations of slow spans name cgroups and files of processes.
	why := plan.Has[*plan.WhyOp](r.plan) && r.env.rec.file == nil
	c := Confinement{
		Processes: r.plan.Mappings && r.env.rec.file == nil || why,
		Files: r.env.rec.file != nil || r.plan.HasStacks || r.plan.Mappings || r.env.cgroups.names != nil ||
			why,
		Names: r.env.cgroups.names != nil || why,
		Kernel: r.cfg.Hooks.Interval != nil || r.cfg.Hooks.Exit != nil || plan.Has[*plan.EachOp](r.plan) ||
			r.plan.ListsCode() && r.env.rec.file == nil, // the kernel's own code
		Scratch: plan.Has[*plan.DatabaseOp](r.plan),
	}
	for _, e := range r.plan.Events {
		if p := e.Source.Probe; p != nil {
			c.Files = c.Files || p.Kind.OfFile()
			if p.Kind == probe.Breakpoint { // the value that was written is read
				c.Processes, c.Kernel = true, true
			}
		}
	}
	return r.cfg.Confine(c)
}
