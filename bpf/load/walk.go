package load

import "github.com/cilium/ebpf"

// This file describes the maps by which programs walk user stacks: the code that processes have
// mapped, and the tables of the files that it comes from. Package walk has the routines that
// read it, and fills it.
//
//	process ──► its ranges, sorted ──► blocks of 4 KiB ──► rows, sorted ──► rule

// WalkProc describes a process: its ranges are Count from At on. Exec is how often it had
// executed a program, plus 1, or 0 if that is not known yet.
type WalkProc struct{ At, Count, Exec, _ uint32 }

// Places in a WalkProc.
const (
	WalkProcAt    = 0
	WalkProcCount = 4
	WalkProcExec  = 8
	WalkProcSize  = 16
)

// WalkRange is mapped code: Len bytes from Start on, whose blocks are Blocks from At on, or of
// which nothing is known but that it is code (0). Delta less is the place in the first block.
type WalkRange struct {
	Start, Len, Delta uint64
	At, Blocks        uint32
}

// Places in a WalkRange.
const (
	WalkRangeStart  = 0
	WalkRangeLen    = 8
	WalkRangeDelta  = 16
	WalkRangeAt     = 24
	WalkRangeBlocks = 28
	WalkRangeSize   = 32
)

// A block is a word: the page that has its rows in the low half, then the first row there and the
// number of rows, 16 bits each.
const (
	WalkFirstShift = 32
	WalkCountShift = 48
	WalkBlockSize  = 8
)

// Rows are kept in pages, which hold as many as a block can have, and pages in chunks, which are
// made as they are needed.
const (
	WalkPageRows  = 4096
	WalkPageSize  = 4 * WalkPageRows
	WalkChunkBits = 6 // pages of a chunk, as a power of two
)

// Places in a rule, as the fields of unwind.Rule have them.
const (
	WalkRuleKind  = 0
	WalkRuleReg   = 1
	WalkRuleBP    = 2
	WalkRuleBX    = 3
	WalkRuleOff   = 4
	WalkRuleAdd   = 8
	WalkRuleBPOff = 12
	WalkRuleBXOff = 16
	WalkRuleSize  = 24
)

// Bounds of what is kept, in all. MostWalkRanges of a process are as many as a walk searches.
const (
	MostWalkProcs       = 1 << 14
	MostWalkRanges      = 1 << 16
	MostWalkRangesOfOne = 1 << 12
	MostWalkBlocks      = 1 << 18 // 1 GiB of code
	MostWalkRules       = 1 << 16
	MostWalkChunks      = 160 // of 1 MiB
)

// A WalkStop is why a walk ended.
type WalkStop int

const (
	// WalkEnd is the outermost function.
	WalkEnd WalkStop = iota
	// WalkNoCode is an address outside of what the process is known to have mapped.
	WalkNoCode
	// WalkNoTable is code without tables, whose frame pointer leads nowhere.
	WalkNoTable
	// WalkBad is a rule that leads not up the stack, or to memory that cannot be read.
	WalkBad
	// WalkDeep is as many frames as are wanted.
	WalkDeep
	// WalkComplex is a rule beyond the form of rules.
	WalkComplex
	// WalkUnknown is a process that nothing is known of yet. Its frame pointers were followed.
	WalkUnknown
	// WalkPointers counts the frames of all walks that were left by their frame pointers, and
	// WalkFrames all.
	WalkPointers
	WalkFrames
	// WalkStops is the number of counters.
	WalkStops
)

// ChainUnwound, beside the bound of a stack, says that its user part was found by tables, ChainCut
// that outer frames are missing.
const (
	ChainCut     = 1 << 32
	ChainUnwound = 1 << 33
)

// WalkChunk is a map of pages.
func WalkChunk() *ebpf.MapSpec {
	return &ebpf.MapSpec{Name: "pps_walkchunk", Type: ebpf.Array, KeySize: 4, ValueSize: WalkPageSize,
		MaxEntries: 1 << WalkChunkBits}
}

// Walks are the maps by which programs walk user stacks; nil if they walk none.
func Walks(r *Run) map[MapKind]*ebpf.Map {
	if r.maps[WalkProcsMap.Of()] == nil {
		return nil
	}
	maps := map[MapKind]*ebpf.Map{}
	for kind := WalkProcsMap; kind <= WalkStatsMap; kind++ {
		maps[kind] = r.maps[kind.Of()]
	}
	return maps
}
