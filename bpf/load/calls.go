package load

import (
	"fmt"

	"ppscript/runtime/operator/join"
)

// This file reads the tree of calls that programs make.

// The element of a node of the tree in the programs' array.
const (
	NodeParent    = 0
	NodeStage     = 8
	NodeState     = 16
	NodeSize      = 24
	NodeMade      = 1
	NodeRecursive = 2
)

// Calls returns the nodes in the tree of a join, by number. The root is 0.
func Calls(r *Run, joined int) ([]join.Call, error) {
	var n [1]uint64
	err := r.words(NodeCountMap.Of(joined)).lookup(make([]byte, 4), n[:])
	nodes := r.words(NodesMap.Of(joined))
	calls := make([]join.Call, 1, min(int(n[0])+1, nodes.entries))
	key, words := make([]byte, 4), make([]uint64, NodeSize/8)
	for i := 1; i < cap(calls) && err == nil; i++ {
		key[0], key[1], key[2] = byte(i), byte(i>>8), byte(i>>16)
		err = nodes.lookup(key, words)
		calls = append(calls, join.Call{
			Parent:    int32(words[NodeParent/8]),
			Stage:     int32(words[NodeStage/8]),
			Made:      words[NodeState/8]&NodeMade != 0,
			Recursive: words[NodeState/8]&NodeRecursive != 0,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read the tree of calls: %w", err)
	}
	return calls, nil
}
