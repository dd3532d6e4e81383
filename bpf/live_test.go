package bpf

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"ppscript/bpf/features"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/fold"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/source/tracefs"
	"ppscript/runtime/system/kernel"

	"ppscript/tests/testkit"
)

// live returns the features of the real kernel, or skips the test.
func live(t testing.TB) (*Host, *tracefs.FS) {
	t.Helper()
	testkit.Requires(t, testkit.Live...)
	fs, err := tracefs.Find()
	if err != nil {
		t.Fatal(err)
	}
	h, err := features.Find(kernel.Roots{}, false)
	testkit.Requires(t, testkit.Core("bpf", err))
	return h, fs
}

func schemaOf(t testing.TB, fs *tracefs.FS, system, name string) *event.Schema {
	t.Helper()
	s, err := fs.Schema(system, name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// node compiles a C expression on an event.
func node(t testing.TB, s *event.Schema, text string) expr.Node {
	t.Helper()
	p, err := cexpr.Compile(text, &expr.Scope{Schema: s})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p.Node
}

func fnOf(n expr.Node) *flow.Fn { return flow.NewFn([]*expr.Program{expr.Build(n)}, 0) }

// calls makes n calls of getppid on CPU 0.
func calls(n int) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var old, set unix.CPUSet
	unix.SchedGetaffinity(0, &old)
	set.Set(0)
	unix.SchedSetaffinity(0, &set)
	for range n {
		unix.RawSyscallNoError(unix.SYS_GETPPID, 0, 0, 0)
	}
	unix.SchedSetaffinity(0, &old)
}

// partOf is a part whose events have the streams 0, 1 and so on.
func partOf(events []*Event, edges ...*Edge) *Part {
	for i, e := range events {
		e.Stream = i
	}
	return &Part{Events: events, Edges: edges}
}

// counted is a group that counts the events of stream 0 by keys.
func counted(keys ...expr.Node) *agg.Spec {
	s := &agg.Spec{Aggs: []agg.Agg{{Op: agg.Count}}, Args: []agg.Arg{{}}}
	for _, k := range keys {
		s.Keys = append(s.Keys, fnOf(k))
	}
	return s
}

// predsOf are predicates that evaluate expressions.
func predsOf(nodes ...expr.Node) (list []*graph.Pred) {
	for _, n := range nodes {
		list = append(list, &graph.Pred{Prog: &expr.Program{Node: n}})
	}
	return list
}

// joinNode and foldNode are operators of a graph.
func joinNode(s *join.Spec) *graph.Node {
	return &graph.Node{Op: &graph.Operator{Work: graph.Work{Join: s}}}
}

func foldNode(s *fold.Spec) *graph.Node {
	return &graph.Node{Op: &graph.Operator{Work: graph.Work{Fold: s}}}
}

// recordsOf is a part whose events are sent as records say, if all of preds hold.
func recordsOf(events []*Event, records []*Record, preds ...[]expr.Node) *Part {
	p := partOf(events)
	for i, r := range records {
		e := &Edge{Stream: i, Send: r}
		if i < len(preds) {
			e.Preds = predsOf(preds[i]...)
		}
		p.Edges = append(p.Edges, e)
	}
	return p
}

// start loads and attaches p on this process, to be ended with the test.
func start(t testing.TB, h *Host, p *Part) *load.Run {
	t.Helper()
	return startOn(t, h, p, &Target{PIDs: []int{os.Getpid()}})
}

// startOn is start for another target.
func startOn(t testing.TB, h *Host, p *Part, target *Target) *load.Run {
	t.Helper()
	im, err := Generate(p, h, target)
	if err != nil {
		t.Fatal(err)
	}
	r, err := load.Open(&im.Image)
	if err != nil {
		t.Fatalf("%v\n%s\n%v", err, logOf(err), im.Programs[0].Ins)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(r.Attach(target), load.Begin(r)); err != nil {
		t.Fatal(err)
	}
	return r
}

func logOf(err error) string {
	if r, ok := err.(*load.Rejected); ok {
		return r.Log
	}
	return ""
}

func TestCount(t *testing.T) {
	h, fs := live(t)
	enter := schemaOf(t, fs, "raw_syscalls", "sys_enter")
	id := node(t, enter, "id")
	group := counted(id)
	r := start(t, h, partOf([]*Event{{Schema: enter, Label: "enter"}}, &Edge{Group: group}))
	calls(1000)
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	g := agg.New(*group)
	if err := r.Rows(nil, func(_ *agg.Spec, p *agg.Partial) { g.AddPartial(p) }); err != nil {
		t.Fatal(err)
	}
	for _, row := range g.Rows() {
		if row[0].Int() == unix.SYS_GETPPID && row[1].Int() != 1000 {
			t.Errorf("got %v calls of getppid, want 1000", row[1])
		}
	}
	t.Log(g.Rows(), r.Describe())
}

// A refusal of the verifier comes with its reason, and nothing stays loaded.
func TestRejected(t *testing.T) {
	h, fs := live(t)
	im, err := Generate(countByID(t, fs), h, &Target{})
	if err != nil {
		t.Fatal(err)
	}
	p := &im.Programs[0]
	p.Ins = asm.Instructions{asm.LoadMem(asm.R0, asm.R9, 0, asm.DWord), asm.Return()}
	_, err = load.Open(&im.Image)
	var rejected *load.Rejected
	if !errors.As(err, &rejected) || !strings.Contains(rejected.Log, "R9 !read_ok") ||
		strings.Contains(rejected.Log, "processed ") {
		t.Errorf("got %v, %q, want what the verifier did not like", err, logOf(err))
	}
}
