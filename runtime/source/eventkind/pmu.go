package eventkind

import (
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"
)

// pmuEvents are events of a PMU by number.
type pmuEvents struct{}

func (pmuEvents) names(s *plan.Source) bool { return s.PMU != nil }

func (pmuEvents) find(c *Finder, s *plan.Source) ([]*event.Schema, error) {
	if instead := c.insteadOf(s); instead != nil {
		return namedEvents{}.find(c, instead)
	}
	schema, err := ofPMU(s)
	if err != nil {
		return nil, err
	}
	return []*event.Schema{schema}, nil
}

func (pmuEvents) recorded(s *plan.Source, schema *event.Schema) bool {
	return schema.ID == s.PMU.Config[0] &&
		(schema.System == "raw" || strings.HasPrefix(schema.Name, s.PMU.Device+"/"))
}

// ofPMU makes the schema of an event of a PMU. It reads the type number of the
// PMU from sysfs, since the number differs between boots.
func ofPMU(s *plan.Source) (*event.Schema, error) {
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

// configure sets the parameters that only events of a PMU have.
func (pmuEvents) configure(_ *Finder, ev *perf.EventConfig, s *plan.Source, _ []event.Member) {
	ev.Config1, ev.Config2 = s.PMU.Config[1], s.PMU.Config[2]
}
