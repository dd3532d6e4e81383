package features

import (
	"slices"
	"strings"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"ppscript/runtime/system/kernel"
	"ppscript/runtime/system/kerneltype"
)

// This file knows which functions of the kernel can call a program by themselves, through
// a trampoline (fentry, fexit), which costs a part of what a probe costs.

// A Function is one that trampolines can call programs at.
type Function struct {
	// Args are the sizes of the arguments in bytes, each of which has a register of its
	// own; none is a structure.
	Args []int
	// Returns says that the function has a result.
	Returns bool
}

// trampolines finds functions by their names; nil if this kernel cannot say what
// programs need. The kernel is asked when somebody needs it, once: it may have no
// trampolines, or be locked down against what changes its code.
func trampolines(v kernel.Version) func(name string) (*Function, bool) {
	if !v.AtLeast(5, 17) {
		return nil // programs cannot ask for arguments there, see hook.Direct
	}
	works := sync.OnceValue(tryTrampoline)
	types := kerneltype.Running()
	known := map[string]*Function{}
	return func(name string) (*Function, bool) {
		f, ok := known[name]
		if !ok {
			if !underneath(name) && works() {
				f = functionOf(types, name)
			}
			known[name] = f
		}
		return f, f != nil
	}
}

// underneath tells functions that the trampoline itself may call around a program: they
// would call each other until the stack is full. The kernel refuses some of them, the
// newer the more. A probe finds out that it runs already.
func underneath(name string) bool {
	return slices.ContainsFunc(inTrampolines, func(word string) bool { return strings.Contains(name, word) })
}

// inTrampolines are words of such names.
var inTrampolines = []string{
	"rcu", "preempt", "migrate_", "irq_work", "raise_softirq", "lockdep", "lock_acquire", "lock_release",
	"percpu_ref", "sched_clock", "bpf", "ftrace", "trace_",
}

// functionOf is a function by the kernel's types; nil if it is not known, or has
// arguments that are not numbers or addresses.
func functionOf(types *kerneltype.Types, name string) *Function {
	typ, ok := types.Function(name)
	if !ok {
		return nil
	}
	f := &Function{Returns: scalar(typ.Result)}
	for _, p := range typ.Params {
		if !scalar(p.Type) || p.Name == "" {
			return nil // the arguments behind "..." have no name
		}
		f.Args = append(f.Args, p.Type.Size())
	}
	return f
}

func scalar(t kerneltype.Type) bool {
	switch t.Kind() {
	case kerneltype.Pointer, kerneltype.Int, kerneltype.Char, kerneltype.Enum, kerneltype.Bool:
		return t.Size() > 0 && t.Size() <= 8
	}
	return false
}

// tryTrampoline attaches a program to a function that the kernel has for such tests and
// that nobody calls.
func tryTrampoline() bool {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Tracing, AttachType: ebpf.AttachTraceFEntry, AttachTo: "bpf_fentry_test1",
		License: "GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	if err != nil {
		return false
	}
	defer prog.Close()
	l, err := link.AttachTracing(link.TracingOptions{Program: prog})
	if err != nil {
		return false
	}
	return l.Close() == nil
}
