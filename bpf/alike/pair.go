package alike

import (
	"slices"
	"strings"

	"ppscript/bpf/features"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// FunctionOf is the name behind the kind of a probe.
func FunctionOf(p *load.Program) string { return p.Attach[strings.IndexByte(p.Attach, ':')+1:] }

// CanPair reports that a session may call the program of a probe, which reads nodes. Registers
// that look as if a breakpoint had been run only probes of the kernel have.
func CanPair(host *features.Host, p *load.Program, of *event.Schema, nodes []expr.Node) bool {
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
