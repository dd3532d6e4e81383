package session

import (
	"time"

	"ppscript/runtime/output"
	"ppscript/runtime/plan/placement"
	"ppscript/runtime/session/budget"
	"ppscript/runtime/source/identity"
	"ppscript/runtime/source/perfdata"
	"ppscript/runtime/source/wallclock"
	"ppscript/runtime/stack/naming"
	"ppscript/runtime/system/memory"
	"ppscript/runtime/target/cgroup"
)

// Options has the options of a run.
type Options struct {
	// Interval is the period of results; 0 means one result, at the end.
	Interval time.Duration
	// Aligned makes intervals end at multiples of Interval on the wall clock, so that intervals of
	// several machines end together. The first interval is then shorter.
	Aligned bool
	Verbose int // 1 notices, 2 events
	// Command is the user's command line, which pictures show; "" if unknown.
	Command string

	Recording Recording
	Limits    Limits
	Reading   Reading
	Clock     wallclock.ClockChoice
	Cost      Cost
	Stacks    output.StackFiles
	Timeline  output.TimelineFiles
	Symbols   Symbols
	Names     cgroup.NameSources
	Show      Show
}

// A Recording names the recordings that are read instead of events of the
// running kernel.
type Recording struct {
	Path string   // "" means the running kernel
	More []string // other recordings, merged with Path by time
	// From and To bound the part that is read; Interval and Duration go by the times
	// of the recording's events.
	From, To perfdata.Moment
	// Read is called with the number of bytes read of Path, Named with the number of
	// stacks whose functions have names; may be nil.
	Read  func(done, size uint64)
	Named func(done, all uint64)
}

// Limits end a run.
type Limits struct {
	Duration time.Duration // 0: no limit
	ExitN    uint64        // number of samples; 0: no limit
	Rows     uint64        // rows of a table in an interval; 0: default
	// SamplingLimit ends the run when a CPU or thread sends more events a second; 0
	// means no limit. With Cost.EvalCPUs or Cost.EvalPIDs only these CPUs or
	// threads are checked.
	SamplingLimit uint64
	// Memory bounds the memory of this process, in bytes; 0 means
	// memory.Default.
	Memory int64

	budget *memory.Budget // of the run
}

// Reading says how events are read, and which engine runs the per-event code.
type Reading struct {
	Pages     int    // size of a ring; 0: default
	Watermark int    // fill of a ring that wakes the reader, in percent; 0: default
	Engine    string // placement.EngineAuto, EnginePerf or EngineBPF; "" is EnginePerf
	Interpret bool   // run script functions in the interpreter
	// OrderBytes bounds the memory for sorting events from recordings and other
	// machines, and for events that wait for slow receivers; 0 means the defaults
	// of these packages.
	OrderBytes int
	Token      string // secret shared with peers; "" is none
	// TLS has our certificate and the trusted peers; nil means no TLS.
	TLS *identity.Side
}

// Cost bounds the cost of the run, and says which costs are shown.
type Cost struct {
	// EvalCPUs and EvalPIDs select the CPUs or the threads for which the run
	// compares how often events occur with how many reach ppscript (see eval.go).
	// At most one of them is set.
	EvalCPUs, EvalPIDs []int
	UsageSelf          time.Duration // period of reports about ppscript's own use; 0: none
	// Budget is the share of the time of all CPUs that observing may cost. 0 means no
	// bound, and so does a negative value, which the user chose (budget.Off).
	Budget float64
	// Started is the begin of the run for the budget; the zero value is the begin of the process.
	Started budget.Start
	look    bool // only measure the cost: Budget must not change the run
	// Show adds the cost of each interval to the results.
	Show bool
}

// evaluates reports that the user chose CPUs or threads to evaluate.
func (c *Cost) evaluates() bool { return len(c.EvalCPUs)+len(c.EvalPIDs) > 0 }

// Symbols says where the names of functions are looked up.
type Symbols struct {
	// Lines, "yes" or "no", says whether frames have their source file and line,
	// and inlined functions are frames. This reads DWARF, which takes seconds for
	// large programs. "" means yes if stacks or timelines are written to files.
	Lines string
	// Root is a directory with the files of programs under their paths, for
	// example from another machine; "" is none.
	Root string
	// DebugDirs are searched before the usual directories, for files by build-id
	// and for separate debug files.
	DebugDirs []string
	// Servers are the debuginfod servers for files that are not found
	// otherwise.
	Servers naming.Servers
	// Later leaves functions of programs without names, which ppscript resolve can add to
	// the saved result.
	Later bool
}

// lines reports whether source lines are wanted.
func (o *Options) lines() bool {
	files := len(o.Stacks.List()) + len(o.Timeline.List())
	return o.Symbols.Lines == "yes" || o.Symbols.Lines == "" && files > 0
}

// Show says which results are shown, and where.
type Show struct {
	// NoLog leaves out the lines of events, since users who write stacks to a
	// file do not want them as text as well. Tables are still shown.
	NoLog bool
	// LineStacks shows stacks in lines even if a flame graph is written.
	LineStacks bool
	// NoFiles writes no files that reports name: their tables are shown with the
	// other results, databases are in memory, heat maps are left out.
	NoFiles bool
	// Raw shows fields as numbers, even if the kernel has names for the values.
	Raw bool
	// Whole keeps data in results that their tables do not show, for other
	// outputs.
	Whole bool
	// Self includes events of ppscript's own threads. A log then also has
	// events that its own output causes.
	Self bool
}

// weighed returns whether and how a budget may leave out events of the plan.
func (o *Options) weighed() placement.BudgetRules {
	w := placement.BudgetRules{On: o.Cost.Budget > 0}
	if o.Cost.look || o.Cost.evaluates() || o.Limits.ExitN > 0 {
		w.NoSlots = "all events are counted"
	}
	return w
}
