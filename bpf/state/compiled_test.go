package state

import (
	"flag"
	"testing"

	"ppscript/bpf/load"
	"ppscript/runtime/operator/join"
	"ppscript/tests/testkit"
)

var update = flag.Bool("update", false, "compile callstack.c anew (needs clang)")

// TestCompiled checks that the routine is what clang makes of its source.
func TestCompiled(t *testing.T) {
	testkit.Compiled(t, "callstack", *update, map[string]int64{
		"NODE_SIZE": load.NodeSize, "NODE_PARENT": load.NodeParent, "NODE_STAGE": load.NodeStage,
		"NODE_STATE": load.NodeState, "NODE_MADE": load.NodeMade, "NODE_RECURSIVE": load.NodeRecursive,
		"MAX_NODES": join.MaxNodes,
	}, "-mcpu=v3") // for __sync_add_and_fetch; the tree of calls needs Linux 5.12, which has it
}
