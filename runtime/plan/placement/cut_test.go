package placement

import (
	"math"
	"math/rand"
	"testing"

	"ppscript/runtime/event"
)

// The cut costs what the best of all cuts costs, and has what it says on its sides.
func TestCutIsCheapest(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for range 2000 {
		n := newNetwork()
		for range r.Intn(7) {
			n.node()
		}
		type edge struct {
			from, to int
			room     float64
		}
		var edges []edge
		for range r.Intn(20) {
			e := edge{r.Intn(len(n.from)), r.Intn(len(n.from)), float64(r.Intn(9))}
			if r.Intn(5) == 0 && (e.from != kernelEnd || e.to != ourEnd) {
				e.room = never
			}
			edges = append(edges, e)
			n.pipe(e.from, e.to, e.room)
		}
		costOf := func(in func(node int) bool) float64 {
			cost := 0.0
			for _, e := range edges {
				if in(e.from) && !in(e.to) {
					cost += e.room
				}
			}
			return cost
		}
		best, most := never, 0
		for set := range 1 << len(n.from) {
			in := func(node int) bool { return set>>node&1 != 0 }
			if !in(kernelEnd) || in(ourEnd) {
				continue
			}
			size := 0
			for i := range n.from {
				if in(i) {
					size++
				}
			}
			if cost := costOf(in); cost < best || cost == best && size > most {
				best, most = cost, size
			}
		}
		if math.IsInf(best, 1) {
			continue // nobody builds those
		}
		side, cost := n.cut()
		size := 0
		for _, in := range side {
			if in {
				size++
			}
		}
		if cost != best || costOf(func(i int) bool { return side[i] }) != best || size != most {
			t.Fatalf("%v: got %v of cost %v, want %v with %d on the kernel's side", edges, side, cost, best, most)
		}
	}
}

// A cut can be made at any edge to which the model gives a cost: in front of what
// leaves little behind it, and behind what does not.
func TestCutAnywhere(t *testing.T) {
	f := func(want string, sizes ...float64) {
		t.Helper()
		n := newNetwork()
		at := kernelEnd
		var nodes []int
		for _, size := range sizes {
			next := n.node()
			nodes = append(nodes, next)
			n.pipe(at, next, size)
			n.pipe(next, at, never)
			at = next
		}
		n.pipe(at, ourEnd, never)
		side, _ := n.cut()
		got := ""
		for _, i := range nodes {
			got += string("-k"[event.Bit(side[i])])
		}
		if got != want {
			t.Errorf("%v: got %s, want %s", sizes, got, want)
		}
	}
	// An event, a join, a condition, a log: what passes in front of each.
	f("kkk-", 64, 64, 90, 0.9)
	f("---", 10, 64, 90)
	f("k--", 64, 10, 90)
}
