package session

import (
	"ppscript/runtime/event"
	"ppscript/runtime/kernel"
	"ppscript/runtime/perf"
	"ppscript/runtime/plan"
)

// This file finds events that have no format in tracefs: those that the kernel
// counts in software, and the counters of the CPU.

// named is the event that a source names; of one that may be either, the
// counter of the CPU where there is such a thing.
func (w *world) named(s *plan.Source) (*event.Schema, error) {
	if s.OrElse != "" && !w.hasCounters() {
		w.sayOnce("the CPU has no counters here (a virtual machine?): sampling by " + s.OrElse + " instead of " + s.Name)
		return perf.SoftwareSchema(s.OrElse)
	}
	return schemaOf(s.Kind, s.Name)
}

func schemaOf(k plan.Kind, name string) (*event.Schema, error) {
	switch k {
	case plan.Hardware:
		return perf.HardwareSchema(name)
	case plan.Cache:
		return perf.CacheSchema(name)
	}
	return perf.SoftwareSchema(name)
}

func (w *world) hasCounters() bool {
	pmus, err := kernel.ReadPMUs(kernel.Roots{})
	return err == nil && kernel.HasCPU(pmus)
}

// sayOnce says what a plan that is built again would say again.
func (w *world) sayOnce(line string) {
	if w.said == nil {
		w.said = map[string]bool{}
	}
	if !w.said[line] {
		w.said[line] = true
		w.say("%s", line)
	}
}

// recordedAs reports that a recorded event is the one that a source names.
func recordedAs(s *plan.Source, schema *event.Schema) bool {
	is := func(want *event.Schema, err error) bool {
		return err == nil && want.Type == schema.Type && want.ID == schema.ID
	}
	return is(schemaOf(s.Kind, s.Name)) || s.OrElse != "" && is(perf.SoftwareSchema(s.OrElse))
}
