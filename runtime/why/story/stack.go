package story

import (
	"slices"
	"strings"

	"ppscript/runtime/result"
	"ppscript/runtime/stack"
)

// entries are the prefixes of the functions that enter the kernel for an interrupt. Outer frames
// belong to the interrupted code, which has nothing to do with the interrupt.
var entries = []string{
	"asm_sysvec_", "asm_common_interrupt", "el0t_64_irq", "el0t_32_irq", "el1h_64_irq", "el1t_64_irq",
}

// stacks calls each for the stacks of a line, with their titles.
func (l *Line) stacks(w *result.Why, each func(title string, s result.CallStack)) {
	if l.Link == nil {
		return
	}
	if s, ok := w.Stacks[l.Link.Stack]; ok && l.Link.Stack != stack.None {
		each("left the CPU at", s)
	}
	if s, ok := w.Stacks[l.Link.WakerStack]; ok && l.Link.WakerStack != stack.None {
		if l.Link.Whom.Comm == "" {
			s = ofInterrupt(s)
		}
		each("woken from", s)
	}
}

// ofInterrupt returns a stack without the frames of the interrupted code.
func ofInterrupt(s result.CallStack) result.CallStack {
	at := slices.IndexFunc(s.Frames, func(f *result.Frame) bool {
		return slices.ContainsFunc(entries, func(entry string) bool {
			return strings.HasPrefix(f.Symbol, entry)
		})
	})
	if at >= 0 {
		s.Frames, s.Cut = s.Frames[:at+1], false
	}
	return s
}
