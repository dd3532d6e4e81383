package why

import (
	"iter"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/stack"
)

// A Config configures an Explainer for all spans of a run. The zero value
// works.
type Config struct {
	// Depth bounds the links of a path: how far other threads are followed; 0
	// is 8.
	Depth int
	// Missing lists events that are not observed, so that some causes are unknown.
	Missing []Missing
	// Arch is the GOARCH that the numbers of system calls are from; "" is
	// amd64.
	Arch string
	// Stacks copies the stacks of switches, wake-ups and locks to links.
	Stacks bool
	// Records bounds the events that are kept at once; 0 is a million, about 150 MB.
	Records int
	// Parts bounds the parts of a span; 0 is 16,384. If there are more, nearby parts are
	// merged by cause, so that they still add up.
	Parts int

	// The following functions return facts that events do not have; each may be
	// nil.

	// Task returns the process and name of a thread that events do not name;
	// pid 0 is unknown.
	Task func(tid int32) (pid int32, comm string)
	// Kernel reports whether a thread is a kernel thread; nil decides by the
	// name.
	Kernel func(tid int32) bool
	// Cgroup returns the cgroup of a thread, CgroupByID the cgroup with the id in samples.
	Cgroup     func(tid int32) Cgroup
	CgroupByID func(id uint64) Cgroup
	// Quota reports whether the CPU time of a cgroup has a limit, and whether the limit has held
	// threads so far. If throttling is not observed, the cause of a wait for a CPU is then unknown.
	Quota func(cgroup string) (limited, held bool)
	// QuotaFields are the fields of switches with the values of QuotaReads, in the same
	// order; nil if a value is not read.
	QuotaFields []*event.Field
	// Standing returns the current state of a thread, and the current time on the events'
	// clock; false if unknown.
	Standing func(tid int32) (s Standing, now event.Time, ok bool)
	Names
}

// Names has functions that return names for numbers in events. Each may be nil;
// "" means unknown.
type Names struct {
	// Disk returns the name of a device; without a name, MAJOR:MINOR is shown.
	Disk func(dev uint32) string
	// File returns the name of a process's file descriptor at this moment.
	File func(pid, fd int32) string
	// Place returns the name of an address in a process at this moment: "queue_lock of db",
	// "heap".
	Place func(pid int32, addr uint64) string
	// Site returns the function of the kernel that takes a lock, from a stack; without it, the
	// lock's address is shown. Function returns the name of a kernel function.
	Site     func(id stack.ID) string
	Function func(addr uint64) string
}

// A Cgroup is the cgroup of a thread. The zero Cgroup is unknown.
type Cgroup struct {
	Path string // path in the hierarchy of the cpu controller, if there are several hierarchies
	Name string // for people: "container web", "unit cron.service", "cgroup /a"
}

// A Missing is an event that is not observed.
type Missing struct {
	Event string // as in Need.Event
	// Why says why it is missing, and how to fix that: "this kernel has no
	// lock:contention_begin".
	Why string
}

// A Span is the time [From, To) of a thread, which is to be explained.
type Span struct {
	From, To event.Time
	TID, PID int32
	Label    string // name for people
	Key      string // key of the pair; "" if the key is the thread
}

// A History has the events before and during a span.
type History struct {
	// Events are in time order. They are read once, and each may be reused after the
	// next step. They should begin before the span, so that the activity of threads at
	// its begin is known. LOST records among them count as Gaps.
	Events iter.Seq[*event.Event]
	// Since is the time from which on Events are complete; 0 if nothing happened
	// before them.
	Since event.Time
	// Onward says that Events and Gaps continue the last history without a hole. The last history
	// is kept, except for many events that are older than Old.
	Onward bool
	Old    event.Time
	// Gaps are times with losses, in any order.
	Gaps []Gap
	// After has the events after the span up to now, in time order. They are searched for closed
	// files if Config.File is set. It is read before Explain returns, or not at all.
	After iter.Seq[*event.Event]
}

// A Gap is a time in which events were lost.
type Gap struct {
	CPU      int32 // -1: on any CPU
	From, To event.Time
	Reason   string // "" is "events were lost"

	// unseen marks an unobserved switch from thread prev to thread next, which only the
	// events around it show.
	unseen     bool
	prev, next int32
}

// An Explainer explains where the time of spans went. It is used by one goroutine.
// Config.Records bounds its memory.
//
// Explain gets the events of each span. If the histories of spans overlap, as in a
// recording, it is cheaper to call Add for each event in time order, and ExplainAdded
// for a span when its end was added.
type Explainer struct {
	cfg     Config
	shapes  map[*event.Stream]*shape
	last    *event.Stream
	shape   *shape
	names   names
	missing map[string]string

	index
	members members
	files   files
	walker  walker
	// scratch has buffers of faultWay.
	scratch struct{ inside, between []event.Time }
}

// DefaultRecords is the default of Config.Records.
const DefaultRecords = 1 << 20

const (
	defaultDepth = 8
	minRecords   = 1 << 10
	defaultParts = 1 << 14
	minParts     = 1 << 7
)

// New returns an Explainer without events.
func New(cfg Config) *Explainer {
	if cfg.Depth <= 0 {
		cfg.Depth = defaultDepth
	}
	if cfg.Records <= 0 {
		cfg.Records = DefaultRecords
	}
	cfg.Records = max(cfg.Records, minRecords)
	if cfg.Parts <= 0 {
		cfg.Parts = defaultParts
	}
	cfg.Parts = max(cfg.Parts, minParts)
	if cfg.Arch == "" {
		cfg.Arch = "amd64"
	}
	x := &Explainer{cfg: cfg, shapes: map[*event.Stream]*shape{}, missing: map[string]string{}}
	for _, m := range cfg.Missing {
		x.missing[m.Event] = m.Why
	}
	x.names.init()
	x.members.init()
	x.index.init()
	return x
}

// Explain explains a span. The caller owns the result.
func (x *Explainer) Explain(s Span, h History) *result.WhySpan {
	if h.Onward {
		x.age(h.Old)
	} else {
		x.Reset(h.Since)
	}
	gaps := sortedGaps(h.Gaps)
	if h.Events != nil {
		for e := range h.Events {
			for len(gaps) > 0 && gaps[0].From <= e.Time {
				x.Lost(gaps[0])
				gaps = gaps[1:]
			}
			x.Add(e)
		}
	}
	for _, g := range gaps {
		x.Lost(g)
	}
	x.files.begin(h.After)
	return x.tell(s)
}

// Reset forgets all events. The events added from now on are complete from since on; 0
// means that nothing happened before them.
func (x *Explainer) Reset(since event.Time) {
	x.index.reset(since)
	x.files.reset()
}

// Add adds an event, in time order. It keeps only numbers and names of the
// event.
func (x *Explainer) Add(e *event.Event) {
	if e.Kind == event.Lost {
		x.lostRecord(e)
		return
	}
	if e.Kind != event.Sample || e.Stream == nil {
		return
	}
	if e.Stream != x.last {
		x.last, x.shape = e.Stream, x.shapeOf(e.Stream)
	}
	if x.shape.kind == kNone {
		return
	}
	if len(x.recs) >= x.cfg.Records {
		x.forget()
	}
	if r, ok := x.decode(x.shape, e); ok {
		x.put(r)
	}
}

// ExplainAdded explains a span from the events that were added by Add.
func (x *Explainer) ExplainAdded(s Span) *result.WhySpan {
	x.files.begin(nil)
	return x.tell(s)
}
