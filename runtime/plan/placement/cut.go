package placement

import "math"

// This file cuts a graph in two so that the edges that are cut cost least: the
// minimum cut, which equals the maximum flow (Ford and Fulkerson). Flow is sent
// along shortest paths (Edmonds and Karp); graphs of plans have some dozen nodes,
// those of patterns of events some hundred.

// A network is nodes, of which two are the ends, and pipes between them.
type network struct {
	pipes []pipe  // each is followed by its reverse
	from  [][]int // by node: pipes that leave it
}

// A pipe leads to a node; room is how much more may pass.
type pipe struct {
	to   int
	room float64
}

// The ends of every network.
const (
	kernelEnd = iota
	ourEnd
	networkEnds
)

// lastResort is the capacity of a pipe that is only cut if there is no other way.
const lastResort = 1e12

// never is the room of a pipe that must not be cut.
var never = math.Inf(1)

func newNetwork() *network { return &network{from: make([][]int, networkEnds)} }

// node adds a node.
func (n *network) node() int {
	n.from = append(n.from, nil)
	return len(n.from) - 1
}

// pipe adds a pipe from one node to another: a cut with the first in the kernel
// and the second outside costs room.
func (n *network) pipe(from, to int, room float64) {
	n.from[from] = append(n.from[from], len(n.pipes))
	n.from[to] = append(n.from[to], len(n.pipes)+1)
	n.pipes = append(n.pipes, pipe{to, room}, pipe{from, 0})
}

// cut returns which nodes are on the kernel's side of the cheapest cut, and what it
// costs. Of several cheapest cuts it takes the one with the most nodes on the
// kernel's side: all nodes from which the other end cannot be reached.
func (n *network) cut() (inKernel []bool, cost float64) {
	for {
		path := n.path()
		if path == nil {
			break
		}
		room := never
		for _, p := range path {
			room = min(room, n.pipes[p].room)
		}
		if math.IsInf(room, 1) {
			panic("BUG: a plan that nobody can run")
		}
		for _, p := range path {
			n.pipes[p].room -= room
			n.pipes[p^1].room += room
		}
		cost += room
	}
	inKernel = make([]bool, len(n.from))
	for i := range inKernel {
		inKernel[i] = true
	}
	list := []int{ourEnd}
	inKernel[ourEnd] = false
	for len(list) > 0 {
		at := list[0]
		list = list[1:]
		for _, p := range n.from[at] {
			// A node that can still send to at is on its side.
			if from := n.pipes[p].to; n.pipes[p^1].room > 0 && inKernel[from] {
				inKernel[from] = false
				list = append(list, from)
			}
		}
	}
	return inKernel, cost
}

// path is a shortest way from the kernel's end to ours along which more may pass,
// as pipes; nil if there is none.
func (n *network) path() []int {
	by := make([]int, len(n.from))
	for i := range by {
		by[i] = -1
	}
	list := []int{kernelEnd}
	for len(list) > 0 && by[ourEnd] < 0 {
		at := list[0]
		list = list[1:]
		for _, p := range n.from[at] {
			if to := n.pipes[p].to; n.pipes[p].room > 0 && by[to] < 0 && to != kernelEnd {
				by[to] = p
				list = append(list, to)
			}
		}
	}
	if by[ourEnd] < 0 {
		return nil
	}
	var path []int
	for at := ourEnd; at != kernelEnd; at = n.pipes[by[at]^1].to {
		path = append(path, by[at])
	}
	return path
}
