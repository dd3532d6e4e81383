package interpreted

import (
	"flag"
	"math/bits"
	"testing"

	"ppscript/tests/testkit"
)

var update = flag.Bool("update", false, "compile walker.c anew (needs clang)")

// The program is what clang makes of its source.
func TestCompiled(t *testing.T) {
	testkit.Compiled(t, "walker", *update, map[string]int64{
		"MAX_FRAMES": maxFrames, "MAX_THREADS": maxThreads, "STACK_COUNT": stackCount, "STACK_CUT": stackCut,
		"STACK_AT": stackAt, "FRAME_SIZE": frameSize, "STACK_SIZE": stackSize, "FRAME_ROOM": frameRoom,
		"MEMORY_SIZE": memorySize, "CONFIG_SIZE": int64(configSize), "SAMPLE_SIZE": sampleSize,
		"PER_CPU":     perCPU,
		"HASH_FACTOR": hashFactor, "ENTRY_BIT": int64(bits.TrailingZeros64(IsEntry)), "WORD_START": WordStart,
		"EACH_ENTRY": EachEntry, "OWNER_ENTRY": OwnerEntry, "FRAMES_ENTRY": FramesEntry,
		"BITS_ENTRY": BitsEntry, "POINTER_ENTRY": PointerEntry,
	})
}
