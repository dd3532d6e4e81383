// Package capabilities lists the facilities of the kernel that a plan needs, and the capabilities
// that open them for a process that is not root. It decides by the kinds of the plan's events and
// by where its parts run, and names no profiler. The doctor calls it. It opens nothing.
package capabilities

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/probe"
	"ppscript/runtime/source/tracefs"
	"ppscript/runtime/system/kernel"
)

// Needs lists the facilities and capabilities for one plan.
type Needs struct {
	// Facilities of the kernel, such as tracefs, in the order of their words.
	Facilities []string
	// Caps are the capabilities that the plan cannot run without. Helps are capabilities
	// that add something; the value names it.
	Caps  []kernel.Cap
	Helps map[kernel.Cap]string
}

// Here has the facts of a machine that decide about capabilities.
type Here struct {
	// Perfmon says that the kernel knows cap_perfmon and cap_bpf; before 5.8 cap_sys_admin is
	// in their place.
	Perfmon bool
	// Open says that perf_event_paranoid lets everybody trace.
	Open bool
	// Hidden says that tracefs can be read by root only.
	Hidden bool
}

// Look looks at this machine.
func Look() (h Here) {
	v, err := kernel.ReadVersion(kernel.Roots{})
	h.Perfmon = err != nil || v.AtLeast(5, 8)
	h.Open = kernel.TracingIsOpen(kernel.Roots{})
	tfs, err := tracefs.Find()
	if err == nil {
		st, err := os.Stat(tfs.Root())
		h.Hidden = err == nil && st.Mode().Perm()&0o005 != 0o005
	} else {
		h.Hidden = errors.Is(err, fs.ErrPermission)
	}
	return h
}

func (n *Needs) facility(name string) { n.Facilities = append(n.Facilities, name) }

func (n *Needs) needs(h *Here, list ...kernel.Cap) {
	for _, c := range list {
		if !h.Perfmon && (c == kernel.CapPerfmon || c == kernel.CapBPF) {
			c = kernel.CapSysAdmin
		}
		n.Caps = append(n.Caps, c)
	}
}

func (n *Needs) helps(c kernel.Cap, with string) {
	if n.Helps == nil {
		n.Helps = map[kernel.Cap]string{}
	}
	n.Helps[c] = with
}

// Of finds the needs of a plan on a machine.
func Of(p *plan.Plan, h Here) *Needs {
	n := &Needs{}
	sources := make([]*plan.Source, 0, len(p.Events))
	for _, e := range p.Events {
		sources = append(sources, e.Source)
	}
	for _, op := range plan.Of[*plan.CounterOp](p) {
		n.facility("counters")
		sources = append(sources, op.Sources...)
	}
	for _, s := range sources {
		if !s.Pulled() {
			n.event(s, &h)
		}
	}
	if p.Kernel != nil || p.Projection != nil || slices.ContainsFunc(p.Events, func(e *plan.Event) bool {
		return e.SampleFilter != nil
	}) {
		n.facility("BPF programs")
		if p.OnlyKernel {
			n.needs(&h, kernel.CapBPF, kernel.CapPerfmon)
		} else {
			n.needs(&h, kernel.CapPerfmon)
			n.helps(kernel.CapBPF,
				"ppscript does itself what programs of the kernel would, at several times the cost")
		}
	}
	if p.HasStacks {
		n.facility("kernel symbols")
		n.helps(kernel.CapSyslog, "functions of the kernel have no names where addresses are hidden")
	}
	if p.Mappings {
		n.helps(kernel.CapSysPtrace, "functions of other users' programs have no names")
	}
	if p.Cgroups {
		n.facility("cgroups")
	}
	slices.Sort(n.Facilities)
	n.Facilities = slices.Compact(n.Facilities)
	slices.Sort(n.Caps)
	n.Caps = slices.Compact(n.Caps)
	for _, c := range n.Caps {
		delete(n.Helps, c)
	}
	return n
}

// event adds what an event needs.
func (n *Needs) event(s *plan.Source, h *Here) {
	if !h.Open {
		n.needs(h, kernel.CapPerfmon)
	}
	switch s.Kind {
	case eventspec.Tracepoint:
		n.facility("tracepoints")
		if h.Hidden {
			n.needs(h, kernel.CapDACReadSearch)
		}
	case eventspec.Software:
		n.facility("software events")
	case eventspec.Hardware, eventspec.Cache, eventspec.RawPMU:
		if s.OrElse != "" {
			n.facility("hardware or software events")
			break
		}
		n.facility("hardware events")
	case eventspec.Probe:
		switch {
		case s.Probe.Kind.OfFile():
			n.facility("uprobes")
			n.needs(h, kernel.CapSysAdmin)
		case s.Probe.Kind == probe.Breakpoint:
			n.facility("breakpoints")
		default:
			n.facility("kprobes")
		}
	}
}
