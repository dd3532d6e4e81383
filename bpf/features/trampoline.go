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

// This file finds out which functions of the kernel can call a program through a
// trampoline (fentry, fexit), which costs a fraction of a probe.

// A Function is a function of the kernel that can call programs through a
// trampoline.
type Function struct {
	// Args lists the sizes of the arguments in bytes. Each argument has a register of
	// its own; none is a structure.
	Args []int
	// Returns says that the function has a result.
	Returns bool
}

// trampolines returns a function that finds functions by their names; nil if
// programs cannot read arguments through trampolines on this kernel. The first
// look-up tries once whether trampolines work: the kernel may have none, or
// forbid changes of its code (lockdown).
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

// underneath reports functions that the trampoline itself may call around a program:
// they would call each other until the stack is full. The kernel refuses some of them,
// newer kernels more. A probe on such a function is no danger: it notices that it runs
// already.
func underneath(name string) bool {
	return slices.ContainsFunc(inTrampolines, func(word string) bool { return strings.Contains(name, word) })
}

// inTrampolines lists words in the names of such functions.
var inTrampolines = []string{
	"rcu", "preempt", "migrate_", "irq_work", "raise_softirq", "lockdep", "lock_acquire", "lock_release",
	"percpu_ref", "sched_clock", "bpf", "ftrace", "trace_",
}

// functionOf describes a function by the kernel's types; nil if it is not there,
// or has arguments that are not numbers or addresses.
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

// tryTrampoline tries to attach a program to a function that the kernel has for such
// tests and never calls otherwise.
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
