package eval

import (
	"flag"
	"testing"

	"ppscript/runtime/record/sent"
	"ppscript/tests/testkit"
)

var update = flag.Bool("update", false, "compile longtext.c and path.c anew (needs clang)")

// TestCompiled checks that the routines are what clang makes of their sources.
func TestCompiled(t *testing.T) {
	testkit.Compiled(t, "longtext", *update, map[string]int64{
		"LONG_MEMORY": longMemory, "LONG_LENGTH_AT": longLengthAt, "LONG_MOST": sent.LongMost,
		"LONG_ROOM": sent.LongRoom, "LONG_FRONT": sent.LongFront, "LONG_HASH": sent.LongHash,
		"LONG_LENGTH": sent.LongLength, "LONG_KEY": sent.LongKey,
	})
	testkit.Compiled(t, "path", *update, map[string]int64{
		"ROOM": pathRoom, "DEPTH": pathDepth, "KIND": pathKind, "REST": pathRest,
		"DOTS": 3, "WORK_OFFSETS": pathOffsets, "WORK_SIZE": int64(pathWork),
	})
}
