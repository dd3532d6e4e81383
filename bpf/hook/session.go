package hook

import (
	"slices"
	"strings"

	"ppscript/bpf/features"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// Probed is a probe with the expressions that its program evaluates.
type Probed struct {
	*Event
	Nodes []expr.Node
}

// Sessions pairs the programs of a function's call and return, so that one link attaches
// both (a session). It does not if the function calls both through trampolines, which costs
// less. probes has the probes by the number of their event.
func Sessions(im *load.Image, host *features.Host, probes map[int]Probed) {
	may := func(p *load.Program, ret bool) bool {
		e, ok := probes[p.Event]
		return ok && e.Probe.Return == ret && canPair(host, p, e.Schema, e.Nodes)
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

// functionOf is the function of a probe's program, without the kind of the
// probe.
func functionOf(p *load.Program) string { return p.Attach[strings.IndexByte(p.Attach, ':')+1:] }

// canPair reports that a session may call the program of a probe, which reads nodes. In a
// session on a function of the kernel the registers are not those of a breakpoint, so fields
// of a probe's record cannot be read there.
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
