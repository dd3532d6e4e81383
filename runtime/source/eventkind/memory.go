package eventkind

import (
	"fmt"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/datasrc"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/kernel"
)

// This file finds the events that sample memory accesses, of this machine or in
// a recording.

// memoryAccesses are samples of loads and stores.
type memoryAccesses struct{}

func (memoryAccesses) names(s *plan.Source) bool { return s.Memory != nil }

// find finds one event, or two on a hybrid CPU.
func (memoryAccesses) find(c *Finder, s *plan.Source) ([]*event.Schema, error) {
	found, err := kernel.MemoryEvents(kernel.Roots{}, s.Memory.Op, s.Memory.Cycles)
	if err != nil {
		return nil, err
	}
	var schemas []*event.Schema
	for _, m := range found {
		schema := c.describeAccess(&event.Schema{
			System: m.PMU.Name, Name: s.Name, Type: m.PMU.Type, ID: m.Config[0],
		})
		if c.accesses == nil {
			c.accesses = map[*event.Schema]kernel.MemoryEvent{}
		}
		c.accesses[schema] = m
		schemas = append(schemas, schema)
	}
	return schemas, nil
}

func (memoryAccesses) recorded(s *plan.Source, schema *event.Schema) bool {
	return recordedAccesses(s.Memory, schema)
}

// configure sets the PMU's parameters of an event of memory accesses.
func (memoryAccesses) configure(c *Finder, ev *perf.EventConfig, _ *plan.Source, _ []event.Member) {
	m, ok := c.accesses[ev.Schema]
	if !ok {
		return
	}
	ev.Config1, ev.Config2 = m.Config[1], m.Config[2]
	ev.Precise, ev.Leader = m.Precise, m.Leader
	if step := m.PeriodStep; step > 0 {
		ev.Period = max(step, (ev.Period+step-1)/step*step)
	}
	switch {
	case m.CPUs == nil:
	case ev.CPUs == nil:
		ev.CPUs = m.CPUs
	default:
		ev.CPUs = slices.DeleteFunc(slices.Clone(ev.CPUs), func(cpu int) bool {
			return !slices.Contains(m.CPUs, cpu)
		})
	}
}

// recordedAccesses reports that a recorded event samples such accesses. It
// recognizes the names that perf and perf-prof use, and Intel's numbers. IBS,
// of AMD, samples both loads and stores.
func recordedAccesses(m *eventspec.Memory, s *event.Schema) bool {
	name := s.FullName()
	switch {
	case strings.Contains(name, "mem-"+m.Op) && !strings.Contains(name, "-aux"),
		strings.Contains(name, "ldlat-"+m.Op), strings.Contains(name, "ibs_op"):
		return true
	case s.System != "raw":
		return false
	case m.Op == "loads":
		return s.ID == 0x1cd
	}
	return s.ID == 0x82d0 || s.ID == 0x2cd
}

// describeAccess adds the fields and the text for logs to the schema of an event of
// memory accesses.
func (c *Finder) describeAccess(s *event.Schema) *event.Schema {
	if len(s.Fields) > 0 || s.Text != nil {
		return s
	}
	var members event.Schema
	for _, name := range []string{"addr", "phys_addr", "weight", "data_src", "ip"} {
		f, _ := members.Field(name)
		s.Fields = append(s.Fields, *f)
	}
	s.Text = func(dst []byte, e *event.Event) []byte {
		src := datasrc.Bits(member(e, event.MemberDataSrc))
		dst = fmt.Appendf(dst, "%s DATA ADDR %016x PHYS %016x latency %d cycles %s RIP ", src.Op(),
			member(e, event.MemberAddr), member(e, event.MemberPhysAddr), member(e, event.MemberWeight), src)
		return c.appendIP(dst, e)
	}
	return s
}
