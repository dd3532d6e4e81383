package hook

import (
	"slices"
	"strings"

	"ppscript/bpf/features"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// Sessions has the programs of a call and of its return attached by one link, where the
// function does not call both by itself, which costs less. nodes are what the program of an
// event reads.
func Sessions(im *load.Image, host *features.Host, event func(i int) *Event,
	nodes func(i int) []expr.Node) {
	may := func(p *load.Program, ret bool) bool {
		e := event(p.Event)
		return e.Probe != nil && e.Probe.Return == ret && canPair(host, p, e.Schema, nodes(p.Event))
	}
	for i := range im.Programs {
		call := &im.Programs[i]
		if !may(call, false) {
			continue
		}
		for k := range im.Programs {
			ret := &im.Programs[k]
			if !ret.Returns && may(ret, true) && ret.User == call.User &&
				functionOf(ret) == functionOf(call) && (call.Direct == nil || ret.Direct == nil) {
				im.Pair(i, k, host.IsReturn)
				call.Direct, ret.Direct = nil, nil
				break
			}
		}
	}
}

// functionOf is the name behind the kind of a probe.
func functionOf(p *load.Program) string { return p.Attach[strings.IndexByte(p.Attach, ':')+1:] }

// canPair reports that a session may call the program of a probe, which reads nodes. Registers
// that look as if a breakpoint had been run only probes of the kernel have.
func canPair(host *features.Host, p *load.Program, of *event.Schema, nodes []expr.Node) bool {
	may := host.KprobeSession
	if p.User {
		may = host.UprobeSession
	}
	if !may || len(p.Places) != 1 || p.ID>>32 != 0 || !p.User && strings.ContainsAny(of.Name, "+ ") {
		return false
	}
	return p.User || !slices.ContainsFunc(nodes, func(n expr.Node) bool {
		return slices.ContainsFunc(expr.UsesOf(n).Fields, func(f *expr.Field) bool {
			return f.F.Place == event.InRaw && f.F.Name != "common_pid"
		})
	})
}
