package why

import (
	"iter"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/stack"
)

// A Config has what is common to all spans of a run. The zero value works.
type Config struct {
	// Depth is how far the walk follows other threads; 0 is 8.
	Depth int
	// Missing are events that are not observed here: what they would tell is unknown.
	Missing []Missing
	// Arch is the GOARCH whose system calls the events have; "" is amd64.
	Arch string
	// Stacks takes the stacks of switches, wake-ups and locks over into links.
	Stacks bool
	// Records bounds how many events are held at once; 0 is a million, about 150 MB.
	Records int
	// Parts bounds how many parts a span has; 0 is 16,384. Of one that has more, parts that
	// are near each other are put together by cause: they add up all the same.
	Parts int

	// The following tell what events do not; each may be nil.

	// Task tells of a thread whose events do not name it; pid 0 is not known.
	Task func(tid int32) (pid int32, comm string)
	// Kernel reports a thread of the kernel; nil goes by the name.
	Kernel func(tid int32) bool
	// Cgroup returns the cgroup of a thread, CgroupByID the cgroup with the number that samples have.
	Cgroup     func(tid int32) Cgroup
	CgroupByID func(id uint64) Cgroup
	// Quota reports that the CPU time of a cgroup has a limit, and that it has held threads so far: where
	// that is not observed, it is unknown why a thread waits for a CPU.
	Quota func(cgroup string) (limited, held bool)
	// QuotaFields tell with switches what QuotaReads says, in its order; nil is not read.
	QuotaFields []*event.Field
	// Standing is how a thread is found now, and at which time of the events that is; false if
	// that is not known.
	Standing func(tid int32) (s Standing, now event.Time, ok bool)
	Names
}

// Names name what events have numbers of. Each may be nil, and "" is not known.
type Names struct {
	// Disk names a device; else it is MAJOR:MINOR.
	Disk func(dev uint32) string
	// File names what a process has open under a number at this moment.
	File func(pid, fd int32) string
	// Place names what lies at an address of a process at this moment: "queue_lock of db", "heap".
	Place func(pid int32, addr uint64) string
	// Site names the place in the kernel that takes a lock, by the stack there; else the lock's
	// address is shown. Function names a function of the kernel.
	Site     func(id stack.ID) string
	Function func(addr uint64) string
}

// A Cgroup is the cgroup of a thread. The zero Cgroup is not known.
type Cgroup struct {
	Path string // of the CPU's controller, if hierarchies differ
	Name string // for people: "container web", "unit cron.service", "cgroup /a"
}

// A Missing is an event that is not observed.
type Missing struct {
	Event string // as in Need
	// Why it is missing, and what would mend it: "this kernel has no lock:contention_begin".
	Why string
}

// A Span is the time of a thread that is to be explained: [From, To).
type Span struct {
	From, To event.Time
	TID, PID int32
	Label    string // what it is, for people
	Key      string // of the pair; "" if it is the thread
}

// A History has the events around a span.
type History struct {
	// Events are in time order; they are read once, and may be reused after each step.
	// They should begin before the span, so that what threads do at its start is known.
	// Records of losses among them count as Gaps.
	Events iter.Seq[*event.Event]
	// Since is the time from which on Events are complete; 0: nothing is missing.
	Since event.Time
	// Onward says that Events and Gaps go on where those of the last history ended, without a hole:
	// what came then is kept, but for what is older than Old, where that is much.
	Onward bool
	Old    event.Time
	// Gaps are times with losses, in any order.
	Gaps []Gap
	// After are events behind the span up to now, in time order, if Config.File is there: who closed
	// a file since. It is read before Explain returns, or not at all.
	After iter.Seq[*event.Event]
}

// A Gap is a time in which events were lost.
type Gap struct {
	CPU      int32 // -1: of any CPU
	From, To event.Time
	Reason   string // "" is "events were lost"

	// unseen is a switch, from one thread to another, of which only the events around tell.
	unseen     bool
	prev, next int32
}

// An Explainer tells where the time of spans went. It is for one goroutine. Its memory is
// bounded by Config.Records.
//
// Explain has its own events each time. Spans whose histories overlap, as those of a
// recording do, are cheaper with one history for all: Add each event in time order, and
// Told a span once its end was added.
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
	// scratch are times of faults, see faultWay.
	scratch struct{ inside, between []event.Time }
}

// DefaultRecords bounds the events of a Config that says nothing.
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

// Explain tells where the time of a span went. What it returns is the caller's.
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

// Reset forgets all events; those that are added from now on are complete from since on,
// where 0 is that nothing came before.
func (x *Explainer) Reset(since event.Time) {
	x.index.reset(since)
	x.files.reset()
}

// Add adds an event, in time order. Nothing of it is kept but numbers and names.
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

// ExplainAdded is Explain for a span of the events that were added.
func (x *Explainer) ExplainAdded(s Span) *result.WhySpan {
	x.files.begin(nil)
	return x.tell(s)
}
