package plan

import (
	"testing"

	"ppscript/runtime/event"
)

// reads are the names that a function reads.
type reads []string

func (r reads) Reads() ([]string, bool) { return r, true }

// TestDemandOfProbes checks that only the registers that somebody reads are asked for, and
// registers that computed fields are made of.
func TestDemandOfProbes(t *testing.T) {
	schema := &event.Schema{System: "usdt", Name: "x", Fields: []event.Field{
		{Name: "a", Place: event.InMember, Member: event.MemberReg + 5, Size: 8},
		{Name: "b", Place: event.InMember, Member: event.MemberArg, Size: 4,
			Computed: &event.Computed{Uses: []event.Member{event.MemberReg + 3, event.MemberStack}}},
	}}
	schemas := []*event.Schema{schema}
	isProbe := func(int) bool { return true }
	f := func(names []string, want ...event.Member) {
		t.Helper()
		d := newDemand()
		if names == nil {
			d.Probes(schemas, isProbe)
		} else {
			d.Call(reads(names), schemas, isProbe)
		}
		for _, w := range want {
			if !d.Members[w] {
				t.Errorf("%v: got no member %d", names, w)
			}
		}
		if len(d.Members) != len(want) {
			t.Errorf("%v: got %v, want %v", names, d.Members, want)
		}
	}
	f([]string{"a"}, event.MemberReg+5)
	f([]string{"b", "nosuch"}, event.MemberArg, event.MemberReg+3, event.MemberStack)
	f([]string{"cpu"}, event.MemberCPU)
	f(nil, event.MemberReg+5, event.MemberArg, event.MemberReg+3, event.MemberStack)
}
