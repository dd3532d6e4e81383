package load

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
)

// This file has the types of an image: programs, maps, and the layout of keys and
// values in rows.

// An Image is programs and maps, ready to be loaded.
type Image struct {
	Target   *Target
	Programs []Program
	Maps     []Map
	Tables   []*Table
	Units    []*Unit
	Folds    []Fold // folds whose old states are evicted before a map is full
	Flushes  []Flush
	Waits    []Wait // of which the oldest are given up
	// Events is how many events have a program; each has counters in the map StatsMap.
	Events int
	// Readers lists the readers of each event.
	Readers [][]Reader
	// Intervals says that there are two generations of what is counted.
	Intervals bool
	// Follow says that the set of processes takes children in, Asks that there is a
	// set of threads.
	Follow, Asks bool
	// Relates says that programs count pairs.
	Relates bool
	// StackRoom is how many kernel addresses a kept stack has room for.
	StackRoom int
}

// A Program is the code of one event.
type Program struct {
	Label  string
	Kind   ebpf.ProgramType // TracePoint, RawTracepoint, Kprobe, PerfEvent, or Tracing: a typed raw one
	Attach string           // "system:name", or the raw tracepoint's name; "" is run by ourselves
	Type   uint32           // of the event: attr.type, and attr.config
	ID     uint64
	User   bool // it is a probe in a program
	// Places are the events whose probes call the program, one or more, or whose system calls it tells
	// from others.
	Places []int
	Ins    asm.Instructions
	Event  int // whose program it is, -1 for those of our own
	// Everywhere says that its event is sampled of all tasks, each time: we open that ourselves.
	Everywhere bool
	Direct     *Direct // nil if the function that is probed cannot call it by itself
	// Session is the program together with the program of the return; nil if they must be attached
	// each by itself. Returns says that this is the program of the return.
	Session *Session
	Returns bool
}

// A Direct is the program of a probe as the function calls it by itself, through a
// trampoline. Where the kernel refuses that, the probe itself calls its own.
type Direct struct {
	Function string
	Return   bool
	Ins      asm.Instructions
}

// Where is the hook that calls the program.
func (p *Program) Where() string {
	if p.calledByUs() {
		return "run for each state at the end of an interval"
	}
	calls := ""
	if n := len(p.Places); n > 0 && p.Kind != ebpf.Kprobe {
		calls = fmt.Sprintf(", for %d system calls", n)
	}
	switch p.Kind {
	case ebpf.PerfEvent:
		return "samples of " + p.Attach
	case ebpf.RawTracepoint:
		return "raw tracepoint " + p.Attach + calls
	case ebpf.Tracing:
		return "typed raw tracepoint " + p.Attach + calls
	}
	if p.many() {
		return fmt.Sprintf("%s and %d more functions, by one link", p.Attach, len(p.Places)-1)
	}
	if p.Session != nil || p.Returns {
		return p.Attach + ", by one link for the call and its return"
	}
	if p.Direct != nil {
		return p.Attach + ", which " + p.Direct.calls()
	}
	if p.Kind == ebpf.Kprobe {
		return p.Attach + ", by an event of perf"
	}
	return "tracepoint " + p.Attach + calls
}

// calledByUs reports that no hook calls the program: we run it.
func (p *Program) calledByUs() bool { return p.Kind == ebpf.RawTracepoint && p.Attach == "" }

// calls says when the function calls its program.
func (d *Direct) calls() string {
	if d.Return {
		return "calls it as it returns (fexit)"
	}
	return "calls it as it begins (fentry)"
}

// many reports that one link attaches the program to many functions.
func (p *Program) many() bool { return p.Kind == ebpf.Kprobe && len(p.Places) > 1 }

// A Unit is the maps in which one program keeps the rows of one table. No two
// programs share rows: one that interrupts another on its CPU would spoil the
// row that that one is about to write. They are added up when they are read.
type Unit struct {
	Table   *Table
	Program int
	Rows    []MapID // by generation
	Other   []MapID // of keys for which there is no room; none of a table without keys
	Spare   []MapID
	Slots   []MapID
	Sketch  []MapID
	// Numbers says of each argument how its 64 bits are read.
	Numbers []event.ValueKind
}

// A Table is a group whose rows the kernel keeps.
type Table struct {
	Spec  *agg.Spec
	Name  string
	Index int

	Cols   []Column
	KeyLen int
	Value  Value
}

// A Column is a column of a key.
type Column struct {
	Text  bool
	Stack bool
	Bytes int // of an array, all of which count: a text that does not end at a NUL; 0 is none
	Off   int
	Size  int
}

// A Value says where a row keeps what; offsets in bytes, -1 is nowhere.
//
//	u64 hits   events of the row
//	u64 first  when the row was made, ns
//	for each argument: n, sum, min, max, oldest, newest, greatest, least, a histogram, as far as needed
type Value struct {
	Size   int
	Args   []Arg
	Slots  bool // there are slots, in each of which the key follows the row
	Sketch bool // some argument has log-linear buckets, in a map of their own
	Self   int  // with Sketch: the address of the row, the key of its buckets
	// ByKey says that keys have weights, with all their events: a spread is agg.Clusters words for N
	// then, and as many for Sum.
	ByKey bool
}

// An Arg is where a row keeps the numbers of an argument.
type Arg struct {
	N, Sum, Min, Max int // a sum has two words, the low one first
	Hist, Buckets    int // first counter, number of them
	Agg              int // index of the histogram's aggregator
	Sketch           bool
	// Oldest and Newest are values of Room bytes, each behind its time. Once says that
	// nothing else is kept of the argument, so that one value does.
	Oldest, Newest int
	// Greatest and Least are values of Room bytes, each behind its rank.
	Greatest, Least int
	Room            int
	Text, Once      bool
	// Spread is where words begin that tell how uncertain N and Sum are, of what has weights:
	// see Places of a spread. Sums are of what has a Sum.
	Spread int
}

// Places of the words of a spread.
const (
	SpreadN    = 0  // the variance of N
	SpreadLow  = 8  // a part of the variance of Sum
	SpreadHigh = 16 // the other part, in units of 1<<(2*SpreadShift)
)

// Weighted values from SpreadSmall on are squared without their last SpreadShift bits, so that
// sums of squares have room in a word.
const (
	SpreadSmall = 1 << 20
	SpreadShift = 16
)

// Places of a row that every one has.
const (
	HitsAt  = 0
	FirstAt = 8
)

// The key of a log-linear bucket is the address of its row, which no other row has;
// then argument, sign and bucket. That of a value as it is is the address of its argument's count, N, with
// SketchExact, which no row has, since rows are aligned; then the value.
const (
	SketchNeg   = 16
	SketchArg   = 17
	SketchExact = 1
)

// The counters of a program beside its tables: for joins and filters together,
// then for each table.
const (
	StatErrors = iota
	StatUnmatched
	StatEvicted
	StatLost
	StatTaken
	StatPostponed // events that wait for texts until their call ends
	StatCame      // of these, those whose texts came
	StatHits      // that called the program, of which a budget may leave some out
	StatTimed     // hits of which the time was taken
	StatTime      // that they took, ns
	StatLast      // when the last of these began
	StatPace      // sum over these of PaceOne by the ns since the one before
	StatSkipped   // that were skipped since the last one that was sampled
	StatOffered   // events of keys that may count or not, while some do not
	StatStood     // for how many those of them stand that did
	StatBroken    // what waited of keys that did not count all the time
	StatEndsAlone // ends whose start was not seen; StatUnmatched are starts whose end was not
	StatTables
)

// Timed is of how many hits the time of one is taken; PaceOne is in the unit of StatPace.
const (
	Timed   = 64
	PaceOne = 1 << 30
)

// StatErrors and StatEvicted are a table's own counters; StatRowless is how many events it would have taken
// that are in no row.
func (t *Table) StatErrors() int  { return StatTables + 3*t.Index }
func (t *Table) StatEvicted() int { return StatTables + 3*t.Index + 1 }
func (t *Table) StatRowless() int { return StatTables + 3*t.Index + 2 }

// StatReader is the counter of the i-th reader of a program's event, behind those of so many tables.
func StatReader(tables, i int) int { return StatTables + 3*tables + i }

// Stats is the number of counters that each program has, with so many tables and readers of an event.
func Stats(tables, readers int) int { return StatReader(tables, readers) }

// A Reader is where the events of a program go whose predicates hold: into the rows of a table, which are as
// many, or elsewhere, which is counted by StatReader.
type Reader struct {
	Table *Table // nil is elsewhere
	Late  bool   // some wait for texts before they are in a row
	Sent  bool   // to ppscript, which counts them as it gets them
}

// stats is the number of counters that each program has.
func (im *Image) stats() int { return Stats(len(im.Tables), im.readers()) }

func (im *Image) readers() (most int) {
	for _, list := range im.Readers {
		most = max(most, len(list))
	}
	return most
}
