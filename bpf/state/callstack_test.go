package state_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/bpf/state"
	"ppscript/runtime/operator/join"
	"ppscript/tests/testkit/bpftest"
)

// functions is how many functions the calls of tests are of.
const functions = 3

// callSize is the size of a call that waits.
const callSize = state.WaitingInside + 8

// What callProgram does.
const (
	enters uint64 = iota
	returns
)

// callProgram is a program that enters a call of a function or returns from one, as the join does: the
// input is which of both, the key, the function, and how long the call took. The output is the depth below
// the call, its place in the tree, and the time of the calls inside it.
func callProgram(t *testing.T, tasks bool) *bpftest.Program {
	t.Helper()
	b := bpftest.Builder{In: 32, Out: 24}
	stacks := state.CallStacks{Tasks: tasks, KeyRoom: 8}
	depths := &ebpf.MapSpec{Type: ebpf.Hash, KeySize: 8, ValueSize: 8, MaxEntries: 64}
	if tasks {
		depths = state.TaskMap(8)
	}
	stacks.Maps(depths, b.Define)
	wait := load.WaitMap.Of(0)
	b.Define(wait, &ebpf.MapSpec{Type: ebpf.Hash, KeySize: 16, ValueSize: callSize, MaxEntries: 1 << 12})
	return b.OnStack(t, func(c *assembler.Code, in, out int16, fail assembler.Label) {
		s := stacks
		s.Code = c
		key, node, value := c.Alloc(16), out+8, c.Alloc(callSize)
		end, leaves := c.Label(), c.Label()
		c.Load(asm.R0, in+8)
		c.Store(key, asm.R0)
		c.Load(asm.R0, in)
		c.IfImm(asm.JEq, asm.R0, int32(returns), leaves)
		each := func(do func(function int)) {
			for f := range functions {
				other := c.Label()
				c.Load(asm.R0, in+16)
				c.IfImm(asm.JNE, asm.R0, int32(f), other)
				do(f)
				c.Place(other)
			}
		}

		of := s.Find(key, true, fail)
		c.Load(asm.R0, of.Depth)
		c.Store(out, asm.R0)
		s.Top(of, key, node)
		each(func(f int) {
			s.Child(node, f, functions)
			c.Set(value+state.WaitingEvent, int32(f+1))
		})
		c.Load(asm.R0, node)
		c.Store(value+state.WaitingNode, asm.R0)
		c.Set(value+state.WaitingInside, 0)
		c.Set(value+state.WaitingTime, 0)
		s.Grow(of, key)
		c.Put(wait, key, value, ebpf.UpdateAny)
		c.IfImm(asm.JEq, asm.R0, 0, end)
		s.Shrink(of, key)
		c.GoTo(fail)

		c.Place(leaves)
		of = s.Find(key, false, fail)
		found := c.Label()
		each(func(f int) { s.Search(of, key, f, found) })
		c.GoTo(fail)
		c.Place(found)
		c.Emit(asm.LoadMem(asm.R1, asm.R0, state.WaitingNode, asm.DWord),
			asm.LoadMem(asm.R2, asm.R0, state.WaitingInside, asm.DWord))
		c.Store(node, asm.R1)
		c.Store(out+16, asm.R2)
		c.MapPtr(asm.R1, wait)
		c.Addr(asm.R2, key)
		c.Call(asm.FnMapDeleteElem)
		c.Load(asm.R1, of.Top)
		c.Load(asm.R0, of.Depth)
		c.Store(out, asm.R0)
		c.Emit(asm.StoreMem(asm.R1, 0, asm.R0, asm.DWord))
		s.Returned(of, key, in+24)
		c.Place(end)
	})
}

// waitingCall is a call that waits in the model.
type waitingCall struct {
	function int
	path     string
	inside   uint64
}

// TestCallsNest checks that calls of several keys nest, each by itself: a return ends the newest
// call of its function, those above it are forgotten, the caller gets the time, and each call is
// below its caller in the tree, or where its recursion began. A stack is gone with its outermost
// call.
func TestCallsNest(t *testing.T) {
	p := callProgram(t, false)
	r := rand.New(rand.NewPCG(1, 2))
	model := map[uint64][]waitingCall{}
	places := map[string]uint64{"": 0}
	for step := range 4000 {
		key, f := r.Uint64N(5), r.IntN(functions)
		stack := model[key]
		if r.IntN(5) < 3 && len(stack) < 40 || len(stack) == 0 {
			path := ""
			if len(stack) > 0 {
				path = stack[len(stack)-1].path
			}
			path = below(path, f)
			out, ok := p.Words(enters, key, uint64(f), 0)
			if !ok || out[0] != uint64(len(stack)) {
				t.Fatalf("step %d: got depth %d, %t, want %d", step, out[0], ok, len(stack))
			}
			if place, known := places[path]; known && out[1] != place || out[1] == 0 {
				t.Fatalf("step %d: %s is at %d, want %d", step, path, out[1], place)
			}
			places[path] = out[1]
			model[key] = append(stack, waitingCall{function: f, path: path})
			continue
		}
		took := 1 + r.Uint64N(1000)
		at := -1
		for i, c := range stack {
			if c.function == f {
				at = i
			}
		}
		out, ok := p.Words(returns, key, uint64(f), took)
		if ok != (at >= 0) {
			t.Fatalf("step %d: a return of %d from %v: got %t", step, f, stack, ok)
		}
		if at < 0 {
			continue
		}
		if c := stack[at]; out[0] != uint64(at) || out[1] != places[c.path] || out[2] != c.inside {
			t.Fatalf("step %d: got %v, want %d, %d, %d", step, out, at, places[c.path], c.inside)
		}
		if model[key] = stack[:at]; at > 0 {
			stack[at-1].inside += took
		}
		var depth uint64
		err := p.Map(load.DepthMap.Of(0)).Lookup(key, &depth)
		if gone := err != nil; gone != (at == 0) || !gone && depth != uint64(at) {
			t.Fatalf("step %d: got depth %d, %v, want %d", step, depth, err, at)
		}
	}
	// With three functions, all that a path can be has been there, and all were called again.
	tree := join.NewTree([]string{"a", "b", "c"})
	tree.Adopt(nodes(t, p))
	if len(places) != 1+3+6+6 {
		t.Errorf("got %d paths, want each of three functions", len(places)-1)
	}
	for path, n := range places {
		got := strings.Join(tree.Path(int32(n)), "")
		if got != path || n > 0 && !tree.Recursive(int32(n)) {
			t.Errorf("place %d: got %s, recursive %t, want %s", n, got, tree.Recursive(int32(n)), path)
		}
	}
}

// The depth of a thread is kept with the thread: it stays when the outermost call has returned.
func TestCallsOfThreadsNest(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p := callProgram(t, true)
	f := func(op, function, took uint64, want ...uint64) {
		t.Helper()
		out, ok := p.Words(op, 7, function, took)
		if ok != (want != nil) || ok && !slices.Equal(out, want) {
			t.Errorf("%d of %d: got %v, %t, want %v", op, function, out, ok, want)
		}
	}
	f(returns, 0, 1)
	f(enters, 0, 0, 0, 1, 0)
	f(enters, 1, 0, 1, 2, 0)
	f(enters, 2, 0, 2, 3, 0)
	f(returns, 1, 30, 1, 2, 0) // that of 2 is lost
	f(returns, 2, 1)
	f(enters, 1, 0, 1, 2, 0)
	f(returns, 1, 12, 1, 2, 0)
	f(returns, 0, 50, 0, 1, 42)
	f(returns, 0, 1)
	f(enters, 1, 0, 0, 4, 0)
}

// below is the path of a call: a function that is on it already stays where it was entered first.
func below(path string, f int) string {
	name := string(rune('a' + f))
	for i := range path {
		if path[i:i+1] == name {
			return path[:i+1]
		}
	}
	return path + name
}

// nodes are the places of the tree, as package load reads them.
func nodes(t *testing.T, p *bpftest.Program) (list []join.Call) {
	t.Helper()
	var made uint64
	if err := p.Map(load.NodeCountMap.Of(0)).Lookup(uint32(0), &made); err != nil {
		t.Fatal(err)
	}
	for i := range uint32(made) + 1 {
		words := make([]uint64, load.NodeSize/8)
		if err := p.Map(load.NodesMap.Of(0)).Lookup(i, &words); err != nil {
			t.Fatal(err)
		}
		at := words[load.NodeState/8]
		list = append(list, join.Call{Parent: int32(words[load.NodeParent/8]),
			Stage: int32(words[load.NodeStage/8]),
			Made:  at&load.NodeMade != 0, Recursive: at&load.NodeRecursive != 0})
	}
	return list
}
