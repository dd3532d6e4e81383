// Package whyfacts tells what events do not tell of spans that are explained: of which process and
// cgroup a thread is, what the numbers of its files stand for, where the kernel takes a lock.
//
//	facts := whyfacts.Open(whyfacts.Config{Comm: tasks.Comm})
//	defer facts.Close()
//	facts.Fill(&cfg) // of package why
//
// Of this machine it asks /proc when a span is explained, and the runtimes of containers beside the
// run. Of a recording it tells what that says. The sessions of profilers call it; it is for one
// goroutine.
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

// A Config says where facts come from.
type Config struct {
	// Comm is the name of a thread.
	Comm func(tid int32) string
	// Recorded says that the threads are from a recording, and not of this machine.
	Recorded bool
	// Now is the time of events at this moment; 0 is not known. Not of a recording.
	Now func() event.Time
	// Names lists the runtimes that are asked for the names of containers and pods.
	Names cgroup.NameSources
	// Cgroup is what a recording says of the cgroup with a number.
	Cgroup func(id uint64) *cgroup.Facts
}

// A Source is where facts come from. Make one with Open.
type Source struct {
	Config
	groups groups
	files  files
	places places
}

// Open makes a Source. The caller closes it.
func Open(c Config) *Source {
	s := &Source{Config: c}
	if !c.Recorded {
		s.groups.open(c.Names)
	}
	return s
}

// Close ends what goes on beside the run.
func (s *Source) Close() {
	s.groups.close()
	s.places.close()
}

// Fill has a Config ask the Source.
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

// standing is how a thread is found now.
func (s *Source) standing(tid int32) (why.Standing, event.Time, bool) {
	found, ok := standing(tid)
	now := s.Now()
	return found, now, ok && now > 0
}

// kernel reports a thread of the kernel; one that has ended goes by its name.
func (s *Source) kernel(tid int32) bool {
	if is, known := task.OfKernel(tid); known {
		return is
	}
	return why.KernelName(s.Comm(tid))
}

// locking are parts of the names of functions that take a lock, and tell of it.
var locking = []string{"lock", "mutex", "rwsem", "down_", "trace", "bpf", "semaphore"}

// Site is the function of the kernel that takes a lock, by the stack there: the first that is none of
// the lock itself; "" if there is none.
func Site(frames []*result.Frame) string {
	for _, f := range frames {
		of := func(part string) bool { return strings.Contains(f.Name(), part) }
		if !slices.ContainsFunc(locking, of) {
			return f.Name()
		}
	}
	return ""
}
