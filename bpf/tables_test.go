package bpf

import (
	"errors"
	"os"
	"testing"

	"ppscript/bpf/load"
	"ppscript/runtime/operator/agg"
	"ppscript/tests/testkit"
)

// A process that nothing is known of has the stacks that frame pointers lead through.
func TestUnknownProcessesHaveFramePointers(t *testing.T) {
	testkit.Requires(t, testkit.BTF)
	h, fs := live(t)
	if !h.Tables() {
		testkit.Requires(t, testkit.Optional("programs that walk stacks by tables", errors.ErrUnsupported))
	}
	enter := schemaOf(t, fs, "raw_syscalls", "sys_enter")
	spec := StackSpec{Kernel: true, User: true, Max: 127, Tables: true}
	r := start(t, h, partOf([]*Event{{Schema: enter, Label: "enter", Stack: &spec}},
		&Edge{Group: counted(node(t, enter, "stack"))}))
	calls(1000)
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	counted := uint64(0)
	err := r.Rows(func(s *load.Stack) uint64 {
		if int(s.PID) != os.Getpid() || len(s.User) < 2 || s.Unwound {
			t.Errorf("got %+v, want a stack of this process, by frame pointers", s)
		}
		return 1
	}, func(_ *agg.Spec, p *agg.Partial) { counted += p.Hits })
	if err != nil || counted < 1000 {
		t.Errorf("got %d stacks, %v, want those of 1000 calls", counted, err)
	}
	var pid, until = uint32(os.Getpid()), uint64(0)
	if err := load.Walks(r)[load.WalkAskedMap].Lookup(pid, &until); err != nil || until == 0 {
		t.Errorf("got %v, want that the process is asked for", err)
	}
}
