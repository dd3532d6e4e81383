package eventstring

import (
	"cmp"
	"regexp"
	"strings"

	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/probe"
)

// probeKinds maps the systems of event strings that are probes to their kinds.
var probeKinds = map[string]probe.Kind{
	"kprobe":    probe.Kprobe,
	"kretprobe": probe.Kretprobe,
	"uprobe":    probe.Uprobe,
	"uretprobe": probe.Uretprobe,
	"usdt":      probe.USDT,
}

// asProbe parses "uprobe:func@file", with or without quotes around the file;
// false if the system is not a probe's. rest is the text after the name. fault
// is the reason if the probe is malformed.
func asProbe(s *plan.Source, sys, name, rest string) (ok bool, fault string) {
	kind, ok := probeKinds[sys]
	if !ok {
		return false, ""
	}
	s.Kind = eventspec.Probe
	spec := &probe.Spec{Kind: kind, Name: name}
	if kind != probe.Kprobe && kind != probe.Kretprobe {
		i := strings.LastIndex(name, "@")
		if i < 0 {
			return true, sys + " needs a file: " + sys + `:` + functionAndFile(name, rest)
		}
		spec.Name, spec.File = name[:i], unquote(name[i+1:])
		if spec.File == "" {
			return true, "the file is not in quotes: " + sys + ":" + spec.Name + `@"/path/of/program"`
		}
	}
	if spec.Name == "" {
		return true, "the name of the " + sys + " is missing"
	}
	s.Name, s.Probe = spec.Name, spec
	return true, ""
}

// memoryName matches a breakpoint in perf's notation: mem:0x1000/4:w.
var memoryName = regexp.MustCompile(`^mem:(\w+(?:/[1248])?)(?::([rwx]+))?`)

// asBreakpoint parses a breakpoint in perf's notation, with the length after a slash:
// mem:0x1000/4:w. The defaults are perf's: 4 bytes, reads and writes. end is the length of the
// breakpoint's text; 0 if text does not begin with a breakpoint.
func asBreakpoint(s *plan.Source, text string) (end int, err error) {
	m := memoryName.FindStringSubmatch(text)
	if m == nil {
		return 0, nil
	}
	spec, err := probe.ParseBreakpoint(m[1])
	if err != nil {
		return 0, err
	}
	spec.Access = cmp.Or(m[2], "rw")
	if spec.Len == 0 && spec.Access != "x" {
		spec.Len = 4
	}
	s.Kind, s.Name, s.Probe = eventspec.Probe, spec.Name, &spec
	return len(m[0]), nil
}

// functionAndFile returns the correct notation for a probe whose file is missing, for a
// hint. Users of bpftrace write the file first, /bin/bash:readline; then name ends at
// the first slash and rest has the text after it.
func functionAndFile(name, rest string) string {
	file, function, ok := strings.Cut(name+rest, ":")
	function, _, _ = strings.Cut(function, "/")
	function, _, _ = strings.Cut(function, ",")
	if !ok || function == "" || !strings.HasPrefix(file, "/") {
		return name + `@"/path/of/program"`
	}
	return function + `@"` + file + `"`
}
