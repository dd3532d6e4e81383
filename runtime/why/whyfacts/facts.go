// Package whyfacts finds facts for explanations of spans that events do not have: the process and
// cgroup of a thread, the names of its files and addresses, the function that takes a lock of the
// kernel.
//
//	facts := whyfacts.Open(whyfacts.Config{Comm: tasks.Comm})
//	defer facts.Close()
//	facts.Fill(&cfg) // of package why
//
// On this machine it reads /proc when a span is explained, and asks container runtimes in the
// background. For a recording it returns the facts that the recording has. Sessions use it; it is
// used by one goroutine.
package whyfacts

import (
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/target/cgroup"
	"ppscript/runtime/target/task"
	"ppscript/runtime/why"
)

// A Config configures a Source.
type Config struct {
	// Comm returns the name of a thread.
	Comm func(tid int32) string
	// Recorded says that the threads are from a recording, not from this machine.
	Recorded bool
	// Now returns the current time on the events' clock; 0 if unknown. It is not
	// used for recordings.
	Now func() event.Time
	// Names lists the container runtimes that are asked for the names of containers
	// and pods.
	Names cgroup.NameSources
	// Cgroup returns the facts in a recording about the cgroup with an id.
	Cgroup func(id uint64) *cgroup.Facts
}

// A Source finds facts. Open makes one.
type Source struct {
	Config
	groups groups
	files  files
	places places
}

// Open makes a Source, which the caller must close.
func Open(c Config) *Source {
	s := &Source{Config: c}
	if !c.Recorded {
		s.groups.open(c.Names)
	}
	return s
}

// Close ends the background work and closes files.
func (s *Source) Close() {
	s.groups.close()
	s.places.close()
}

// Fill sets the functions of a why.Config to methods of the Source.
func (s *Source) Fill(c *why.Config) {
	if s.Recorded {
		c.Task = func(tid int32) (int32, string) { return 0, s.Comm(tid) }
		c.CgroupByID = func(id uint64) why.Cgroup {
			if f := s.Cgroup(id); !f.Unknown {
				return why.Cgroup{Path: f.Path, Name: s.groups.called(f)}
			}
			return why.Cgroup{}
		}
		return
	}
	c.Task = func(tid int32) (int32, string) { return max(task.ProcessOf(tid), 0), s.Comm(tid) }
	c.Kernel, c.Standing = s.kernel, s.standing
	c.Cgroup, c.Disk = s.groups.of, kernel.DiskName
	c.File, c.Place = s.files.name, s.places.name
	c.Quota = func(path string) (limited, held bool) {
		q := cgroup.QuotaOf(kernel.Roots{}, path)
		return q.Limited, q.Throttled
	}
}

// standing is why.Config.Standing.
func (s *Source) standing(tid int32) (why.Standing, event.Time, bool) {
	found, ok := standing(tid)
	now := s.Now()
	return found, now, ok && now > 0
}

// kernel reports whether a thread is a kernel thread; for a thread that has
// ended, by its name.
func (s *Source) kernel(tid int32) bool {
	if is, known := task.OfKernel(tid); known {
		return is
	}
	return why.KernelName(s.Comm(tid))
}

// locking are parts of the names of functions that take locks or trace that.
var locking = []string{"lock", "mutex", "rwsem", "down_", "trace", "bpf", "semaphore"}

// Site returns the function that takes a lock, from the stack: the innermost one that is not part
// of the locking code itself; "" if there is none.
func Site(frames []*result.Frame) string {
	for _, f := range frames {
		of := func(part string) bool { return strings.Contains(f.Name(), part) }
		if !slices.ContainsFunc(locking, of) {
			return f.Name()
		}
	}
	return ""
}
