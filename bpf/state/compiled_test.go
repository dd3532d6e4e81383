package state

import (
	"flag"
	"testing"

	"ppscript/bpf/load"
	"ppscript/runtime/operator/join"
	"ppscript/tests/testkit"
)

var update = flag.Bool("update", false, "compile the sources in C anew (needs clang)")

// TestCompiled checks that routines and programs are what clang makes of their sources.
func TestCompiled(t *testing.T) {
	testkit.Compiled(t, "callstack", *update, map[string]int64{
		"NODE_SIZE": load.NodeSize, "NODE_PARENT": load.NodeParent, "NODE_STAGE": load.NodeStage,
		"NODE_STATE": load.NodeState, "NODE_MADE": load.NodeMade, "NODE_RECURSIVE": load.NodeRecursive,
		"MAX_NODES": join.MaxNodes,
	}, "-mcpu=v3") // for __sync_add_and_fetch; the tree of calls needs Linux 5.12, which has it
	testkit.Compiled(t, "target", *update, map[string]int64{
		"CLONE_THREAD": cloneThread, "FOLLOW_THREADS": followThreads, "FOLLOW_ALL": followAll,
	})
}
