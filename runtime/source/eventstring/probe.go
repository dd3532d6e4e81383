package eventstring

import (
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

// functionAndFile writes the name of a probe without a file as it should be. Who
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
