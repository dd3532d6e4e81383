package eventkind

import (
	"fmt"
	"slices"
	"strconv"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/source/probe"
	"ppscript/runtime/system/kernel"
)

// This file finds events that have no format in tracefs: software events of the
// kernel, and counters of the CPU.

// namedEvents are software events of the kernel, and counters of the CPU that
// have a name in perf.
type namedEvents struct{ nothingMore }

func (namedEvents) names(*plan.Source) bool { return true }

// find finds an event. If the source has a replacement (OrElse), find prefers
// the counter of the CPU where the CPU has counters.
func (namedEvents) find(c *Finder, s *plan.Source) ([]*event.Schema, error) {
	if instead := c.insteadOf(s); instead != nil {
		s = instead
	}
	schema, err := schemaOf(s.Kind, s.Name)
	if err != nil {
		return nil, err
	}
	return []*event.Schema{c.Describe(schema)}, nil
}

func (namedEvents) recorded(s *plan.Source, schema *event.Schema) bool {
	is := func(want *event.Schema, err error) bool {
		return err == nil && want.Type == schema.Type && want.ID == schema.ID
	}
	return is(schemaOf(s.Kind, s.Name)) || s.OrElse != "" && is(perf.SoftwareSchema(s.OrElse))
}

// insteadOf returns the source's replacement (OrElse), a software event, if the
// CPU has no counters; nil if it has counters, or if the source has no
// replacement.
func (c *Finder) insteadOf(s *plan.Source) *plan.Source {
	if s.OrElse == "" || hasCounters() {
		return nil
	}
	c.Note("the CPU has no counters here (a virtual machine?): sampling by " + s.OrElse +
		" instead of " + s.Name)
	return &plan.Source{Spec: eventspec.Spec{Kind: eventspec.Software, Name: s.OrElse}}
}

func schemaOf(k eventspec.Kind, name string) (*event.Schema, error) {
	switch k {
	case eventspec.Hardware:
		return perf.HardwareSchema(name)
	case eventspec.Cache:
		return perf.CacheSchema(name)
	}
	return perf.SoftwareSchema(name)
}

func hasCounters() bool {
	pmus, err := kernel.ReadPMUs(kernel.Roots{})
	return err == nil && kernel.HasCPU(pmus)
}

// Describe adds fields for the useful sample members, and the text for logs, to the
// schema of a software event or of a counter of the CPU.
func (c *Finder) Describe(s *event.Schema) *event.Schema {
	if recordedAccesses(&eventspec.Memory{Op: "loads"}, s) ||
		recordedAccesses(&eventspec.Memory{Op: "stores"}, s) {
		return c.describeAccess(s)
	}
	if !slices.Contains([]string{"software", "hardware", "cache", "pmu", "raw"}, s.System) ||
		len(s.Fields) > 0 || s.Text != nil {
		return s
	}
	var fields event.Schema
	sampleMember := func(names ...string) {
		for _, name := range names {
			f, _ := fields.Field(name)
			s.Fields = append(s.Fields, *f)
		}
	}
	switch s.Name {
	case "page-faults", "minor-faults", "major-faults", "alignment-faults", "emulation-faults":
		sampleMember("addr", "ip")
		s.Fields = append(s.Fields, event.Field{
			Name:     "regs",
			Type:     "char[]",
			Kind:     event.Str,
			Place:    event.InMember,
			Member:   event.MemberArg,
			Computed: &event.Computed{Uses: allRegs()},
		})
		s.ArgText = func(e *event.Event, _ int) (string, bool) {
			b := probe.AppendRegisters(nil, e)
			return string(b), len(b) > 0
		}
		s.Text = func(dst []byte, e *event.Event) []byte {
			dst = fmt.Appendf(dst, "addr %016x", member(e, event.MemberAddr))
			return c.appendIP(append(dst, " ip "...), e)
		}
		return s
	case "context-switches", "cpu-migrations", "dummy", "bpf-output", "cgroup-switches":
		return s
	}
	sampleMember("period", "ip")
	unit := " " + s.Name
	if perf.CountUnit(s) == event.Nanos {
		unit = " ns"
	}
	s.Text = func(dst []byte, e *event.Event) []byte {
		dst = strconv.AppendUint(dst, member(e, event.MemberPeriod), 10)
		return c.appendIP(append(append(dst, unit...), " ip "...), e)
	}
	return s
}

// allRegs are the registers that can be sampled.
func allRegs() (members []event.Member) {
	for r := range event.Member(64) {
		if perf.UserRegs()&(1<<r) != 0 {
			members = append(members, event.MemberReg+r)
		}
	}
	return members
}

func member(e *event.Event, f event.Member) uint64 {
	v, _ := e.Stream.Members.Member(e, f)
	return v
}

// appendIP appends the event's code address, as a symbol if it has one.
func (c *Finder) appendIP(dst []byte, e *event.Event) []byte {
	ip := member(e, event.MemberIP)
	if c.Place != nil {
		return c.Place(dst, e, ip)
	}
	return append(dst, c.Symbols.Text(ip)...)
}
