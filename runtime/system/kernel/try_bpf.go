package kernel

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
)

// tryProgram attaches a program to the raw tracepoint of system calls, makes
// some calls, and counts the runs of the program. Calls of other threads count
// too.
func tryProgram() Trial {
	counts, err := ebpf.NewMap(&ebpf.MapSpec{
		Name: "ppscript_try", Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1,
	})
	if err != nil {
		return Trial{Err: err}
	}
	defer counts.Close()
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "ppscript_try",
		Type: ebpf.RawTracepoint, License: "GPL",
		Instructions: asm.Instructions{
			asm.StoreImm(asm.R10, -4, 0, asm.Word),
			asm.Mov.Reg(asm.R2, asm.R10),
			asm.Add.Imm(asm.R2, -4),
			asm.LoadMapPtr(asm.R1, counts.FD()),
			asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "out"),
			asm.Mov.Imm(asm.R1, 1),
			asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 0),
			asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
			asm.Return(),
		}})
	if err != nil {
		return Trial{Err: err}
	}
	defer prog.Close()
	at, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: "sys_enter", Program: prog})
	if err != nil {
		return untried("attach a program: %w", err)
	}
	defer at.Close()
	callKernel(tryHits)
	var n uint64
	if err := counts.Lookup(uint32(0), &n); err != nil {
		return untried("read a map: %w", err)
	}
	return Trial{Hits: tryHits, Least: tryHits, Delivered: min(int64(n), tryHits)}
}
