package session

import (
	"strings"

	"ppscript/runtime/diag"
	"ppscript/runtime/event"
	"ppscript/runtime/kernel"
	"ppscript/runtime/perf"
	"ppscript/runtime/plan"
)

// ofPMU is the schema of an event of a PMU. The type of a PMU is dynamic.
func (c *catalog) ofPMU(s *plan.Source) (*event.Schema, error) {
	pmus, err := kernel.ReadPMUs(kernel.Roots{})
	if err != nil {
		return nil, diag.Errorf(diag.Attach, "open event", s.FullName(), "%v", err).
			WithHint("mount sysfs: mount -t sysfs sysfs /sys")
	}
	p, ok := kernel.FindPMU(pmus, s.PMU.Device)
	if !ok {
		names := make([]string, len(pmus))
		for i, have := range pmus {
			names[i] = have.Name
		}
		return nil, diag.Errorf(diag.Attach, "open event", s.FullName(),
			"this machine has no PMU %s, only %s; virtual machines often have no counters of the CPU",
			s.PMU.Device, strings.Join(names, " ")).
			WithHint("run it where there is one: ls /sys/bus/event_source/devices")
	}
	schema := &event.Schema{System: "pmu", Name: s.Name, Type: p.Type, ID: s.PMU.Config[0]}
	return schema, nil
}

// configurePMU fills in the members that only events of a PMU have.
func (c *catalog) configurePMU(ev *perf.EventConfig, s *plan.Source) {
	if m, ok := c.accesses[ev.Schema]; ok {
		configureAccess(ev, &m)
	}
	if s.PMU != nil {
		ev.Config1, ev.Config2 = s.PMU.Config[1], s.PMU.Config[2]
	}
}
