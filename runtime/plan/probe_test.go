package plan

import (
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/probe"
)

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
		{Name: "b", Place: event.InMember, Member: event.MemberArg, Size: 4,
			Computed: &event.Computed{Uses: []event.Member{event.MemberReg + 3, event.MemberStack}}},
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
