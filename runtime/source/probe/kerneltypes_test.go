package probe

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/kerneltype"
	"ppscript/tests/testkit"
)

// TestNamesOfKernelArguments checks that arguments have the names and types that the kernel's own
// declarations give them.
func TestNamesOfKernelArguments(t *testing.T) {
	testkit.Requires(t, testkit.BTF)
	r := &Resolver{Types: kerneltype.Running()}
	fields := func(s Spec) (list []string) {
		b := newBuilder("kprobe", s.Name, 0, 0, s.Kind.returns())
		c := kernelConvention(0)
		r.typed(b, c, &s, s.Name)
		for _, f := range b.s.Fields[len(common)+1:] {
			if f.Place == event.InMember {
				list = append(list, f.String())
			}
		}
		return list
	}
	for _, x := range []struct {
		spec Spec
		want []string
	}{
		{Spec{Name: "vfs_read"}, []string{"struct file * file", "char * buf", "size_t count", "loff_t * pos"}},
		{Spec{Name: "vfs_read", Kind: Kretprobe}, []string{"ssize_t result"}},
		{Spec{Name: "wake_up_new_task"}, []string{"struct task_struct * p"}},
		{Spec{Name: "wake_up_new_task", Kind: Kretprobe}, nil},
		{Spec{Name: "vfs_read", Args: "long a"}, nil}, // the user's own
		{Spec{Name: "no_such_function_at_all"}, nil},
	} {
		if got := fields(x.spec); !slices.Equal(got, x.want) {
			t.Errorf("%s: got %q, want %q", x.spec.Name, got, x.want)
		}
	}
}

// TestKprobeNamedArguments checks that named arguments have the values of the call, cut to their
// size and sign.
func TestKprobeNamedArguments(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Kprobes, testkit.BTF)
	tid := onThread(t)
	r := resolver(t)
	r.Types = kerneltype.Running()
	var probes []*Probe
	for _, kind := range []Kind{Kprobe, Kretprobe} {
		ps, err := r.Resolve(Spec{Kind: kind, Name: "do_sys_openat2"})
		if err != nil {
			t.Fatal(err)
		}
		probes = append(probes, ps...)
	}
	hits := record(t, probes, perf.Target{TIDs: []int{tid}}, func() {
		for range 5 {
			if _, err := unix.Openat(-100, "/ppscript/no such file", unix.O_RDONLY, 0); err == nil {
				t.Error("the file is there")
			}
		}
	}, func(i int, e *event.Event) {
		switch i {
		case 0:
			if got := num(t, e, "dfd"); got != -100 {
				t.Errorf("got dfd %d, want -100", got)
			}
			if num(t, e, "filename") != num(t, e, "arg2") || num(t, e, "how") != num(t, e, "arg3") {
				t.Errorf("got filename %#x and how %#x, want the second and third register",
					num(t, e, "filename"), num(t, e, "how"))
			}
		case 1:
			if got := num(t, e, "result"); got != -int64(unix.ENOENT) {
				t.Errorf("got result %d, want %d", got, -int64(unix.ENOENT))
			}
		}
	})
	if !slices.Equal(hits, []int{5, 5}) {
		t.Errorf("got %v hits, want 5 of each", hits)
	}
}
