package eventkind

import (
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/glob"
)

// sysfsEvents are events of a PMU by their names in sysfs. Many count for a whole
// CPU package; they cannot be sampled.
type sysfsEvents struct{}

func (sysfsEvents) names(s *plan.Source) bool { return s.PMU != nil && s.PMU.Terms != "" }

// find finds one event for each PMU that matches the source's pattern.
func (sysfsEvents) find(c *Finder, s *plan.Source) ([]*event.Schema, error) {
	found, err := kernel.NamedEvents(kernel.Roots{}, s.PMU.Device, s.PMU.Terms)
	if err != nil {
		return nil, err
	}
	if c.named == nil {
		c.named = map[*event.Schema]kernel.NamedEvent{}
	}
	var schemas []*event.Schema
	for _, e := range found {
		schema := c.Describe(&event.Schema{
			System: "pmu", Name: e.PMU.Name + "/" + s.PMU.Terms, Type: e.PMU.Type, ID: e.Config[0],
		})
		c.named[schema] = e
		schemas = append(schemas, schema)
		if e.Counts != "" {
			c.Note("one count of " + schema.Name + " stands for " + e.Counts)
		}
	}
	return schemas, nil
}

// recorded recognizes an event by the name that perf gives it: cpu/event=0x3c/.
func (sysfsEvents) recorded(s *plan.Source, schema *event.Schema) bool {
	device, terms, _ := strings.Cut(strings.TrimSuffix(schema.Name, "/"), "/")
	return terms == s.PMU.Terms && glob.Match(s.PMU.Device, device)
}

// configure sets the parameters that only events of a PMU have. An event that counts
// for a package is opened on one CPU of each package.
func (sysfsEvents) configure(c *Finder, ev *perf.EventConfig, _ *plan.Source, _ []event.Member) {
	e, ok := c.named[ev.Schema]
	if !ok {
		return
	}
	ev.Config1, ev.Config2 = e.Config[1], e.Config[2]
	switch {
	case e.CPUs == nil:
	case ev.CPUs == nil:
		ev.CPUs = e.CPUs
	default:
		ev.CPUs = slices.DeleteFunc(slices.Clone(ev.CPUs), func(cpu int) bool {
			return !slices.Contains(e.CPUs, cpu)
		})
	}
}

// OfPMU converts a source from an event string, msr/tsc/, which was parsed as a profiler with
// options, to an event of a PMU; nil if it is none. The caller has checked that no profiler has
// this name.
func OfPMU(s *plan.Source) *plan.Source {
	if s.Filter == "" {
		return nil
	}
	pmus, err := kernel.ReadPMUs(kernel.Roots{})
	if err != nil {
		return nil
	}
	device := s.Name
	i := slices.IndexFunc(pmus, func(p kernel.PMU) bool {
		return strings.ReplaceAll(p.Name, "_", "-") == s.Name
	})
	switch {
	case i >= 0:
		device = pmus[i].Name
	case !strings.Contains(s.Filter, "=") || strings.HasPrefix(s.Filter, "-"):
		return nil // no PMU has the name, and the filter has no terms of one, such as event=0x3c
	}
	e := *s
	e.Kind, e.Name, e.Filter = eventspec.RawPMU, device+"/"+s.Filter, ""
	e.PMU = &eventspec.PMU{Device: device, Terms: s.Filter}
	return &e
}
