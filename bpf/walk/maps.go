package walk

import (
	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"ppscript/bpf/load"
)

// askSize is the size of the buffer of requests for tables, in bytes.
const askSize = 1 << 16

// frameMaps defines the maps from which all programs read tables. Maps that fill slowly are
// made in parts; the rest is 7 MiB.
func frameMaps(define func(load.MapID, *ebpf.MapSpec)) {
	array := func(id load.MapID, size, entries uint32) {
		define(id, &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: size, MaxEntries: entries,
			Flags: unix.BPF_F_MMAPABLE})
	}
	array(load.WalkRangesMap.Of(), load.WalkRangeSize, load.MostWalkRanges)
	array(load.WalkBlocksMap.Of(), load.WalkBlockSize, load.MostWalkBlocks)
	array(load.WalkRulesMap.Of(), load.WalkRuleSize, load.MostWalkRules)
	define(load.WalkProcsMap.Of(), &ebpf.MapSpec{Type: ebpf.Hash, KeySize: 4,
		ValueSize: load.WalkProcSize, MaxEntries: load.MostWalkProcs})
	define(load.WalkPagesMap.Of(), &ebpf.MapSpec{Type: ebpf.ArrayOfMaps, KeySize: 4, ValueSize: 4,
		MaxEntries: load.MostWalkChunks, InnerMap: load.WalkChunk()})
	define(load.WalkAskMap.Of(), &ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: askSize})
	define(load.WalkAskedMap.Of(), &ebpf.MapSpec{Type: ebpf.LRUHash, KeySize: 4, ValueSize: 8,
		MaxEntries: load.MostWalkProcs})
	define(load.WalkStatsMap.Of(), &ebpf.MapSpec{Type: ebpf.PerCPUArray, KeySize: 4,
		ValueSize: 8 * uint32(load.WalkStops), MaxEntries: 1})
}
