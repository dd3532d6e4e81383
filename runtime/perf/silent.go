package perf

import (
	"slices"

	"golang.org/x/sys/unix"

	"ppscript/runtime/diag"
	"ppscript/runtime/kernel"
)

// refuseSilent refuses breakpoints on machines where they open and never fire:
// "no events came" would be taken for "nothing was written". try finds out, by
// a breakpoint of our own; where it cannot, nothing is refused.
func refuseSilent(ms []member, try func() kernel.Trial) error {
	i := slices.IndexFunc(ms, func(m member) bool {
		return m.attr.Type == unix.PERF_TYPE_BREAKPOINT && !m.ev.Optional
	})
	if i < 0 {
		return nil
	}
	t := try()
	if !t.Silent() {
		return nil
	}
	return diag.Errorf(diag.Attach, "open event", ms[i].ev.name(),
		"breakpoints %s (of a word of our own, %d of %d writes were told)",
		kernel.SilentBreakpoints, t.Came, t.Made).
		WithHint("%s; see: ppscript doctor", kernel.SilentBreakpointsFix)
}
