package session

import (
	"ppscript/runtime/plan"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/text/diag"
)

// checkTarget returns an error if the plan cannot observe the target, or if its
// results would be wrong for this target.
func checkTarget(p *plan.Plan, t *perf.Target) error {
	ways := t.Named()
	if p.WholeCPUs != "" {
		if err := t.CheckWhole(p.WholeCPUs); err != nil {
			return err
		}
	}
	if t.CPUs != nil {
		ways = append(ways, "-C")
	}
	if nothing := len(p.Events) == 0 && !plan.Has[*plan.CounterOp](p); nothing && len(ways) > 0 {
		return diag.Errorf(diag.Usage, "attach", "target", "got %s, and no event is looked at", ways[0]).
			WithHint("leave out %s", ways[0])
	}
	if p.Watch && len(ways) > 1 && t.CPUs != nil {
		return diag.Errorf(diag.Usage, "attach", "target",
			"got %s and -C: threads are followed from CPU to CPU, and what they do elsewhere would be missing",
			ways[0]).
			WithHint("leave out -C")
	}
	return nil
}
