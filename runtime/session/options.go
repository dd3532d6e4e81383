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

// Options are the options that all profilers share.
type Options struct {
	// Interval is the period of results; 0 is one result, at the end.
	Interval time.Duration
	// Aligned has intervals end at multiples of Interval on the wall clock, as intervals on other machines
	// do; the first is shorter.
	Aligned bool
	Verbose int // 1 notices, 2 events
	// Command is the user's command line, for pictures; "" is not known.
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

// A Recording is read in place of the kernel's events.
type Recording struct {
	Path string   // "" is none: the kernel
	More []string // other recordings, merged with Path by time
	// From and To bound the part that is read; Interval and Duration go by the times
	// of the recording's events.
	From, To perfdata.Moment
	// Read is told how much was read of Path, Named of how many stacks the functions have
	// names; nil if nobody asks.
	Read  func(done, size uint64)
	Named func(done, all uint64)
}

// Limits end a run.
type Limits struct {
	Duration time.Duration // 0: no limit
	ExitN    uint64        // that many samples; 0: no limit
	Rows     uint64        // of a table, for each interval; 0 is the default
	// SamplingLimit ends the run when a CPU, or thread, sends more events a second;
	// 0 is no limit. With Cost.EvalCPUs or Cost.EvalPIDs it is about those.
	SamplingLimit uint64
	// Memory bounds what the process has, in bytes; 0 is memory.Default.
	Memory int64

	budget *memory.Budget // of the run
}

// Reading says how events come here, and what runs the code for each.
type Reading struct {
	Pages     int    // ring size; 0 is the default
	Watermark int    // percent of a ring that wakes us; 0 is the default
	Engine    string // placement.EngineAuto, EnginePerf or EngineBPF; "" is EnginePerf
	Interpret bool   // leave script functions to the interpreter
	// OrderBytes bounds the memory for bringing events from elsewhere into order,
	// and for receivers of events that are sent elsewhere; 0 is the bound of their
	// packages.
	OrderBytes int
	Token      string // that both sides know; "" is none
	// TLS is our identity for peers, and the peers that we believe; nil is no TLS.
	TLS *identity.Side
}

// Cost says which costs of the run are told beside its results.
type Cost struct {
	// EvalCPUs, or the threads of EvalPIDs, are where it is counted how many events
	// occur, and how many of them reach ppscript. One may be given.
	EvalCPUs, EvalPIDs []int
	UsageSelf          time.Duration // period of reports about ourselves; 0: none
	// Budget is the share of the time of all CPUs that observing may cost; 0 is any, and so
	// is what is less: somebody asked for that.
	Budget float64
	// Started is when the run began, for what that costs: the zero value is when the process did.
	Started budget.Start
	look    bool // only to look at the cost: whatever the run does stays as it is
	// Show has each interval say what it cost.
	Show bool
}

// evaluates reports that the user asks how many events occur somewhere.
func (c *Cost) evaluates() bool { return len(c.EvalCPUs)+len(c.EvalPIDs) > 0 }

// Symbols says where names of functions come from.
type Symbols struct {
	// Lines, "yes" or "no", says whether frames have their source file and line,
	// and the functions that the compiler merged into others are frames: for that
	// DWARF is read, for seconds in large programs. "" is yes for the files of
	// stacks.
	Lines string
	// Root is a directory that holds the files of the programs by their paths, of
	// another machine for example; "" is none.
	Root string
	// DebugDirs are searched for files by build-id, and for separate debug files,
	// before the usual ones.
	DebugDirs []string
	// Servers are asked for files that are nowhere else.
	Servers naming.Servers
	// Later leaves functions of programs without names, which are added later to what was saved.
	Later bool
}

// lines reports whether source lines are wanted.
func (o *Options) lines() bool {
	files := len(o.Stacks.List()) + len(o.Timeline.List())
	return o.Symbols.Lines == "yes" || o.Symbols.Lines == "" && files > 0
}

// Show says which results are shown, and where.
type Show struct {
	// NoLog leaves out the lines of events: users who want their stacks in a file
	// do not want them as text as well. Tables are shown all the same.
	NoLog bool
	// LineStacks has lines bring their stacks although a flame graph has them, too.
	LineStacks bool
	// NoFiles writes none of the files that reports name: their tables are among
	// the results, databases are in memory, heat maps are left out.
	NoFiles bool
	// Raw shows fields as the numbers that they are, also where the kernel has names
	// for them.
	Raw bool
	// Whole has results keep what their tables do not show, for other outputs.
	Whole bool
	// Self prints and sends events about ppscript's own threads, too: a log is then
	// fed with its own output.
	Self bool
}

// weighed says how a budget may bound the plan.
func (o *Options) weighed() placement.BudgetRules {
	w := placement.BudgetRules{On: o.Cost.Budget > 0}
	if o.Cost.look || o.Cost.evaluates() || o.Limits.ExitN > 0 {
		w.NoSlots = "all events are counted"
	}
	return w
}
