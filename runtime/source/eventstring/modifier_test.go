package eventstring

import (
	"errors"
	"strings"
	"testing"

	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/probe"
	"ppscript/runtime/text/diag"
)

func TestModifiers(t *testing.T) {
	f := func(text, name string, x eventspec.Exclude, precise uint8, pinned bool) {
		t.Helper()
		list, err := Parse(text, nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return
		}
		s := list[0]
		if s.FullName() != name || s.Exclude != x || s.Precise != precise || s.Pinned != pinned {
			t.Errorf("%s: got %s, %+v, precise %d, pinned %v, want %s, %+v, %d, %v", text, s.FullName(),
				s.Exclude, s.Precise, s.Pinned, name, x, precise, pinned)
		}
	}
	user := eventspec.Exclude{Kernel: true, Hypervisor: true}
	f("cycles:u", "hardware:cycles", user, 0, false)
	f("hardware:cycles:uk", "hardware:cycles", eventspec.Exclude{Hypervisor: true}, 0, false)
	f("cycles:h", "hardware:cycles", eventspec.Exclude{User: true, Kernel: true}, 0, false)
	f("cycles:pp", "hardware:cycles", eventspec.Exclude{}, 2, false)
	f("LLC-loads:kG", "cache:LLC-loads",
		eventspec.Exclude{User: true, Hypervisor: true, Host: true}, 0, false)
	f("instructions:HD", "hardware:instructions", eventspec.Exclude{Guest: true}, 0, true)
	f("cycles:GH", "hardware:cycles", eventspec.Exclude{}, 0, false)
	f("r01c2:u", "pmu:cpu/0x1c2", user, 0, false)
	f("cpu/event=0x3c/u", "cpu", user, 0, false)
	f("cpu/event=0x3c/:u", "cpu", user, 0, false)
	f("page-faults:u", "software:page-faults", user, 0, false)
	f("faults/addr>0/k", "software:faults", eventspec.Exclude{User: true, Hypervisor: true}, 0, false)
	f("cpu-clock:pp", "software:cpu-clock", eventspec.Exclude{}, 0, false)
	f("sched:sched_switch:k", "sched:sched_switch", eventspec.Exclude{}, 0, false)
	f("sched:sched_switch:pD", "sched:sched_switch", eventspec.Exclude{}, 0, false)
	f("syscalls:sys_enter_write:u", "syscalls:sys_enter_write", eventspec.Exclude{}, 0, false)
	f("sched:e", "sched:e", eventspec.Exclude{}, 0, false)
	f(`uprobe:readline@"/bin/bash":u`, `uprobe:readline@"/bin/bash"`, eventspec.Exclude{}, 0, false)
	noUser := eventspec.Exclude{User: true, Hypervisor: true}
	f("mem:0x1000/4:w:k", "breakpoint:0x1000/4:w", noUser, 0, false)
	if list, err := Parse("cycles:u,sched:sched_switch/prev_pid==0/k,cs", nil); err != nil ||
		len(list) != 3 ||
		list[0].Exclude != user || list[1].Filter != "prev_pid==0" || list[2].Name != "cs" {
		t.Errorf("a list: got %v, %v", list, err)
	}
}

func TestModifiersRefused(t *testing.T) {
	for text, want := range map[string]string{
		"cycles:S":             "reads the counters of a group",
		"cycles:pppp":          "want 3 at most",
		"cycles:W":             "there are no groups",
		"sched:sched_switch:u": "it happens in the kernel",
		"kprobe:vfs_read:u":    "it happens in the kernel",
		"context-switches:u":   "it happens in the kernel",
		"page-faults:h":        "only counters of the CPU distinguish a hypervisor",
	} {
		_, err := Parse(text, nil)
		var d *diag.Error
		if !errors.As(err, &d) || !strings.Contains(err.Error(), want) || d.Hint == "" {
			t.Errorf("%s: got %v, want %q with a hint", text, err, want)
		}
	}
}

func TestBreakpointAsPerfWritesIt(t *testing.T) {
	f := func(text string, want probe.Spec) {
		t.Helper()
		list, err := Parse(text, nil)
		if err != nil || *list[0].Probe != want {
			t.Errorf("%s: got %v, %v, want %+v", text, list, err, want)
		}
	}
	f("mem:0x1000/4:w", probe.Spec{Kind: probe.Breakpoint, Name: "0x1000", Len: 4, Access: "w"})
	f("mem:0x1000", probe.Spec{Kind: probe.Breakpoint, Name: "0x1000", Len: 4, Access: "rw"})
	f("mem:0x1000:x/ip>0/", probe.Spec{Kind: probe.Breakpoint, Name: "0x1000", Access: "x"})
}
