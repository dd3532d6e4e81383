package plan

import (
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/probe"
)

func TestProbeEventStrings(t *testing.T) {
	f := func(text string, want probe.Spec, filter string) {
		t.Helper()
		list, err := ParseEvents(text, nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return
		}
		s := list[0]
		if len(list) != 1 || s.Kind != Probe || s.Probe == nil || *s.Probe != want || s.Filter != filter {
			t.Errorf("%s: got %+v of %+v, want %+v", text, s.Probe, s, want)
		}
	}
	f("kprobe:do_sys_openat2", probe.Spec{Kind: probe.Kprobe, Name: "do_sys_openat2"}, "")
	f("kretprobe:vfs_*/retval<0/", probe.Spec{Kind: probe.Kretprobe, Name: "vfs_*"}, "retval<0")
	f(`uprobe:readline@"/bin/bash"/arg1>0/alias=r/`,
		probe.Spec{Kind: probe.Uprobe, Name: "readline", File: "/bin/bash"}, "arg1>0")
	f(`uretprobe:main.(*T).Get@"/a b/c"`,
		probe.Spec{Kind: probe.Uretprobe, Name: "main.(*T).Get", File: "/a b/c"}, "")
	f("uprobe:malloc@libc", probe.Spec{Kind: probe.Uprobe, Name: "malloc", File: "libc"}, "")
	f(`usdt:libstdcxx:throw@"libstdc++"`,
		probe.Spec{Kind: probe.USDT, Name: "libstdcxx:throw", File: "libstdc++"}, "")
	for text, want := range map[string]string{
		"uprobe:readline":           "needs a file",
		"uprobe:readline@/bin/bash": "in quotes",
		`uprobe:@"/bin/bash"`:       "name of the uprobe is missing",
		"kprobe:":                   "name of the kprobe is missing",
	} {
		if _, err := ParseEvents(text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestProbeOfOneProcess(t *testing.T) {
	s := ProbeSource(probe.Spec{Kind: probe.Uprobe, Name: "f", PID: 7})
	if got := s.filterText(); got != "_pid == 7" {
		t.Errorf("got %q, want the process alone", got)
	}
	s.Filter = "arg1 || arg2"
	if got := s.filterText(); got != "_pid == 7 && (arg1 || arg2)" {
		t.Errorf("got %q, want both", got)
	}
}

// Only the registers that somebody reads are asked for, and those that
// computed fields are made of.
func TestProbeNeeds(t *testing.T) {
	schema := &event.Schema{System: "usdt", Name: "x", Fields: []event.Field{
		{Name: "a", Place: event.InMember, Member: event.MemberReg + 5, Size: 8},
		{Name: "b", Place: event.InMember, Member: event.MemberArg, Size: 4, Uses: []event.Member{event.MemberReg + 3, event.MemberStack}},
	}}
	events := []*Event{{Stream: &event.Stream{Schema: schema}, Source: ProbeSource(probe.Spec{})}}
	f := func(names []string, want ...event.Member) {
		t.Helper()
		n := need{members: map[event.Member]bool{}}
		n.probes(events, names)
		for _, w := range want {
			if !n.members[w] {
				t.Errorf("%v: got no fact %d", names, w)
			}
		}
		if len(n.members) != len(want) {
			t.Errorf("%v: got %v, want %v", names, n.members, want)
		}
	}
	f([]string{"a"}, event.MemberReg+5)
	f([]string{"b", "nosuch"}, event.MemberArg, event.MemberReg+3, event.MemberStack)
	f([]string{"cpu"})
	f(nil, event.MemberReg+5, event.MemberArg, event.MemberReg+3, event.MemberStack)
}
