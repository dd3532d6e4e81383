package load

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// This file attaches programs to functions of the kernel that call them by themselves,
// through a trampoline. Which functions the kernel refuses is known when it is asked:
// parts of the tracers, functions that were compiled without room for a call. For these the
// probe's own program is loaded.

// direct loads the program that the function calls; nil if there is none, or the kernel
// refuses it.
func direct(r *Run, p *Program) *ebpf.Program {
	if p.Direct == nil {
		return nil
	}
	spec, err := codeOf(r.maps, p, p.Direct.Ins)
	if err != nil {
		return nil
	}
	spec.Type, spec.AttachType, spec.AttachTo = ebpf.Tracing, ebpf.AttachTraceFEntry, p.Direct.Function
	if p.Direct.Return {
		spec.AttachType = ebpf.AttachTraceFExit
	}
	prog, err := ebpf.NewProgram(spec)
	if err != nil {
		return nil
	}
	return prog
}

// attachDirect attaches the program of that number to its function, or, if the kernel
// refuses that, to the probe.
func attachDirect(r *Run, i int, t *Target) error {
	l, err := link.AttachTracing(link.TracingOptions{Program: r.progs[i]})
	if err == nil {
		r.links = append(r.links, l.Close)
		return nil
	}
	spec, err := r.program(&r.im.Programs[i])
	if err != nil {
		return err
	}
	prog, err := ebpf.NewProgram(spec)
	if err != nil {
		return r.rejected(err)
	}
	old := r.progs[i]
	r.progs[i] = prog
	if err := old.Close(); err != nil {
		return err
	}
	return r.probe(&r.im.Programs[i], prog, t)
}
