package eventstring

import (
	"cmp"
	"regexp"
	"strings"

	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/probe"
)

// probeKinds are the systems of event strings that are probes.
var probeKinds = map[string]probe.Kind{
	"kprobe":    probe.Kprobe,
	"kretprobe": probe.Kretprobe,
	"uprobe":    probe.Uprobe,
	"uretprobe": probe.Uretprobe,
	"usdt":      probe.USDT,
}

// asProbe reads "uprobe:func@file" with the file in quotes or without; false if
// the system is not one of probes. The rest is what follows the name.
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

// memoryName is a breakpoint as perf writes it: mem:0x1000/4:w.
var memoryName = regexp.MustCompile(`^mem:(\w+(?:/[1248])?)(?::([rwx]+))?`)

// asBreakpoint reads a breakpoint in perf's notation, whose length has a slash before it: mem:0x1000/4:w. As
// for perf it is about 4 bytes, and both reads and writes, unless it says so. The end is 0 if there is none.
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

// functionAndFile writes the name of a probe without a file as it should be. A user who
// knows bpftrace writes the file first, /bin/bash:readline: then the name ends at
// the first slash, and rest goes on from there.
func functionAndFile(name, rest string) string {
	file, function, ok := strings.Cut(name+rest, ":")
	function, _, _ = strings.Cut(function, "/")
	function, _, _ = strings.Cut(function, ",")
	if !ok || function == "" || !strings.HasPrefix(file, "/") {
		return name + `@"/path/of/program"`
	}
	return function + `@"` + file + `"`
}
