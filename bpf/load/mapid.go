package load

import (
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
)

// A MapKind is the purpose of a map of an Image. To add one, name it here,
// define its maps with Image.define where they are needed, and refer to them by
// MapID.
type MapKind uint8

const (
	GenerationMap  MapKind = iota // u64: the generation that counts now, 0 or 1
	ControlMap                    // u64: the process that counts; the one whose execve makes it count
	ProcessesMap                  // u32: further processes that count
	CgroupsMap                    // cgroups, by their place in Target.Cgroups
	ThreadsMap                    // u32: threads that the target has
	StatsMap                      // by program and CPU: taken and lost events
	ZeroMap                       // by table: a row with nothing counted
	RowsMap                       // by program, table and generation: rows by key
	SpareMap                      // likewise: where rows are made for which the kernel has no memory at hand
	SlotsMap                      // likewise: rows whose keys came first to their slots
	OtherMap                      // likewise: by CPU, the row of keys for which there is no room
	SketchMap                     // likewise: the buckets of quantiles
	WaitMap                       // by join: the events that wait for a partner
	DepthMap                      // by join of calls: u64, how many wait, by key
	LockMap                       // likewise: u64, the CPU that works on a stack of some keys, and 1
	TreeMap                       // likewise: the number of a call, by that of its caller and its function
	NodesMap                      // likewise: calls by number
	NodeCountMap                  // likewise: u64, how many numbers were given
	RunningMap                    // by join: who runs on each CPU
	FoldMap                       // by fold: states by key
	InitialMap                    // by fold: a state at its begin
	FlushMap                      // by fold: a state that is flushed
	MadeMap                       // by fold: u64, how many states programs made
	ChainMap                      // by program: where a stack is walked
	InterpretedMap                // u64 by CPU: the hash of the interpreted functions of the sample at hand
	StacksMap                     // by generation: stacks by their hash
	HeldMap                       // stacks that folds hold, by number
	HeldNumbersMap                // u64: the number of a stack, by its hash
	HeldCountMap                  // u64: how many numbers were given
	FreshMap                      // u32: processes with new user stacks
	ScratchMap                    // by program: what the stack has no room for
	RecordMap                     // by program and CPU: the record of the event at hand
	SendMap                       // by CPU: sendState
	BuffersMap                    // by CPU: its buffer
	BufferMap                     // the buffer of a CPU
	NamesMap                      // by program, and list: names of the places where it is attached
	CallsMap                      // by program: the place of a system call, by its number, see package hook
	NumbersMap                    // by program: the numbers of the pairs that its places end
	BusyMap                       // by program and CPU: how many run, where they can be preempted
	LateMap                       // by program: texts of a system call that are missing, by thread
	LateCountMap                  // u64: how many of these there are, or more
	PlaceMap                      // by CPU: nothing; it is known where the value of each CPU lies
	LateTextsMap                  // the buffer of texts that were read when the call ended
	CallTextMap                   // by join: texts of the start, with its thread
	KeptMap                       // the newest events of all CPUs
	KeptCountMap                  // u64 by CPU: how many of these were begun
	WeightMap                     // how many events, or keys, one that counts stands for: see WeightNow
	AlarmMap                      // u64: after how many hits that are timed somebody is woken
	BellMap                       // a buffer with whose records programs wake who waits
	LongTextsMap                  // long texts by their hash
	LongCountMap                  // u64: how many were kept
	WalkProcsMap                  // u32: WalkProc of a process
	WalkRangesMap                 // WalkRange
	WalkBlocksMap                 // u64: where the rows of a block are
	WalkPagesMap                  // chunks of pages of rows
	WalkRulesMap                  // rules by number
	WalkAskMap                    // a buffer: processes of which more should be known
	WalkAskedMap                  // u32: the time from which on it may be asked for a process again
	WalkStatsMap                  // by CPU: how walks ended
	TableMap                      // numbers that programs look up, by the hash of all
)

var mapNames = [...]string{
	GenerationMap:  "generation",
	ControlMap:     "control",
	ProcessesMap:   "processes",
	CgroupsMap:     "cgroups",
	ThreadsMap:     "threads",
	StatsMap:       "stat",
	ZeroMap:        "zero",
	RowsMap:        "rows",
	SpareMap:       "spare",
	SlotsMap:       "slots",
	OtherMap:       "other",
	SketchMap:      "dist",
	WaitMap:        "wait",
	DepthMap:       "depth",
	LockMap:        "lock",
	TreeMap:        "tree",
	NodesMap:       "nodes",
	NodeCountMap:   "nodecount",
	RunningMap:     "runs",
	FoldMap:        "fold",
	InitialMap:     "init",
	FlushMap:       "flush",
	MadeMap:        "made",
	ChainMap:       "chain",
	InterpretedMap: "interpreted",
	StacksMap:      "stacks",
	HeldMap:        "held",
	HeldNumbersMap: "heldnumbers",
	HeldCountMap:   "heldcount",
	FreshMap:       "fresh",
	ScratchMap:     "scratch",
	RecordMap:      "record",
	SendMap:        "send",
	BuffersMap:     "buffers",
	BufferMap:      "buffer",
	NamesMap:       "names",
	CallsMap:       "calls",
	NumbersMap:     "numbers",
	BusyMap:        "busy",
	LateMap:        "late",
	LateCountMap:   "latecount",
	PlaceMap:       "place",
	LateTextsMap:   "latetexts",
	CallTextMap:    "calltext",
	KeptMap:        "kept",
	KeptCountMap:   "keptcount",
	LongTextsMap:   "longtexts",
	LongCountMap:   "longcount",
	WeightMap:      "weight",
	AlarmMap:       "alarm",
	BellMap:        "bell",
	WalkProcsMap:   "walkprocs",
	WalkRangesMap:  "walkranges",
	WalkBlocksMap:  "walkblocks",
	WalkPagesMap:   "walkpages",
	WalkRulesMap:   "walkrules",
	WalkAskMap:     "walkask",
	WalkAskedMap:   "walkasked",
	WalkStatsMap:   "walkstats",
	TableMap:       "table",
}

// A MapID is one map of an Image: its kind, and which of that kind.
type MapID struct {
	kind MapKind
	n    int // how many of at count
	at   [3]int
}

// Of is a map of the kind.
func (k MapKind) Of(at ...int) MapID {
	id := MapID{kind: k, n: len(at)}
	copy(id.at[:], at)
	return id
}

// String is the name by which programs refer to the map.
func (m MapID) String() string {
	var s strings.Builder
	s.WriteString(mapNames[m.kind])
	for _, at := range m.at[:m.n] {
		s.WriteByte('_')
		s.WriteString(strconv.Itoa(at))
	}
	return s.String()
}

// A Map is a map that Open makes.
type Map struct {
	ID   MapID
	Spec *ebpf.MapSpec
}
