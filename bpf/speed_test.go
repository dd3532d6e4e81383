package bpf

import (
	"os"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/source/tracefs"
	"ppscript/runtime/system/kerneltype"
)

// countByID counts system calls by number.
func countByID(t testing.TB, fs *tracefs.FS) *Part {
	enter := schemaOf(t, fs, "raw_syscalls", "sys_enter")
	return partOf([]*Event{{Schema: enter, Label: "enter"}}, &Edge{Group: counted(node(t, enter, "id"))})
}

// pairField is a field that pairs have.
func delayOf(part expr.Part) expr.Node {
	return expr.NewField(&event.Field{
		Name: "delay", Place: event.InMember, Member: event.MemberDelay, Size: 8, Signed: true,
	}, part)
}

// latencyByID is the time from entry to exit, by number.
func latencyByID(t testing.TB, fs *tracefs.FS, aggs ...agg.Agg) *Part {
	enter, exit := schemaOf(t, fs, "raw_syscalls", "sys_enter"), schemaOf(t, fs, "raw_syscalls", "sys_exit")
	id := expr.Rebind(node(t, enter, "id"), expr.Self, expr.Start)
	const pairs = 2 // their stream
	of := func(n expr.Node) *flow.Fn { return flow.NewFn([]*expr.Program{pairs: expr.Build(n)}, pairs) }
	group := &agg.Spec{Aggs: aggs, Keys: []*flow.Fn{of(id)}, Args: []agg.Arg{{Fn: of(delayOf(expr.Self))}}}
	j := &join.Spec{In: []join.In{
		{Key: expr.Build(node(t, enter, "_tid"))}, {Stage: 1, Key: expr.Build(node(t, exit, "_tid"))},
	},
		Pairs: [][]*event.Stream{{nil, {Index: pairs}}}}
	return partOf([]*Event{{Schema: enter, Label: "enter"}, {Schema: exit, Label: "exit"}},
		&Edge{Stream: 0, To: joinNode(j)}, &Edge{Stream: 1, To: joinNode(j)},
		&Edge{Stream: pairs, Group: group})
}

var basic = []agg.Agg{{Op: agg.Count}, {Op: agg.Sum}, {Op: agg.Min}, {Op: agg.Avg}, {Op: agg.Max}}

// BenchmarkGetppid is the time of a call, which the caller pays: compare with
// bare.
func BenchmarkGetppid(b *testing.B) {
	h, fs := live(b)
	run := func(name string, h *Host, spec func() *Part) {
		b.Run(name, func(b *testing.B) {
			if spec != nil {
				defer start(b, h, spec()).Stop()
			}
			b.ReportMetric(fastest(b), "ns/call")
		})
	}
	run("bare", h, nil)
	run("count", h, func() *Part { return countByID(b, fs) })
	run("reject", h, func() *Part {
		s := countByID(b, fs)
		s.Edges[0].Preds = predsOf(node(b, s.Events[0].Schema, "id == 9999"))
		return s
	})
	run("count/intervals", h, func() *Part { s := countByID(b, fs); s.Intervals = true; return s })
	run("latency/tasks", h, func() *Part { return latencyByID(b, fs, basic...) })
	hash := *h
	hash.TaskStorage = false
	run("latency/hash", &hash, func() *Part { return latencyByID(b, fs, basic...) })
	run("latency/p99", h, func() *Part {
		return latencyByID(b, fs, append(basic, agg.Agg{Op: agg.Quantile, Q: 0.99})...)
	})
	for _, c := range []struct {
		name string
		spec StackSpec
	}{
		{"kernel", StackSpec{Kernel: true, Max: 127}}, {"both", StackSpec{Kernel: true, User: true, Max: 127}},
	} {
		run("stack/"+c.name, h, func() *Part {
			enter := schemaOf(b, fs, "raw_syscalls", "sys_enter")
			return partOf([]*Event{{Schema: enter, Label: "enter", Stack: &c.spec}},
				&Edge{Group: counted(node(b, enter, "stack"))})
		})
		// What the kernel takes to walk it, and nothing else.
		b.Run("walk/"+c.name, func(b *testing.B) {
			kernelWalk(b, c.spec)
			b.ReportMetric(fastest(b), "ns/call")
		})
	}
	m := expr.NewKernel(kerneltype.Running())
	for _, read := range []string{"pid", "real_parent->tgid", "mm->exe_file->f_inode->i_ino", "comm",
		"real_parent->comm"} {
		run("read/"+read, h, func() *Part {
			s := countByID(b, fs)
			key := reading(b, m, s.Events[0].Schema, "task()->"+read)
			s.Edges[0].Group = counted(key)
			return s
		})
	}
	run("bare2", h, nil)
}

// fastest is the time of a call, in ns. Others use the machine too: the fastest of many
// rounds is ours.
func fastest(b *testing.B) float64 {
	const round = 20000
	best := time.Duration(1 << 62)
	for n := 0; n < b.N; n += round {
		begin := time.Now()
		calls(round)
		best = min(best, time.Since(begin))
	}
	return float64(best.Nanoseconds()) / round
}

// kernelWalk has the kernel write the stacks of this process's calls into memory of a program,
// which does nothing else.
func kernelWalk(b *testing.B, spec StackSpec) {
	b.Helper()
	memory, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.PerCPUArray, KeySize: 4,
		ValueSize: uint32(16 * spec.Max), MaxEntries: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer memory.Close()
	ins := asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.FnGetCurrentPidTgid.Call(),
		asm.RSh.Imm(asm.R0, 32),
		asm.JNE.Imm(asm.R0, int32(os.Getpid()), "end"),
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(asm.R10, -8, asm.R1, asm.DWord),
		asm.LoadMapPtr(asm.R1, memory.FD()),
		asm.Mov.Reg(asm.R2, asm.R10),
		asm.Add.Imm(asm.R2, -8),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "end"),
		asm.Mov.Reg(asm.R7, asm.R0),
	}
	for i, of := range []bool{spec.Kernel, spec.User} {
		if of {
			ins = append(ins, asm.Mov.Reg(asm.R1, asm.R6), asm.Mov.Reg(asm.R2, asm.R7),
				asm.Add.Imm(asm.R2, int32(8*spec.Max*i)), asm.Mov.Imm(asm.R3, int32(8*spec.Max)),
				asm.Mov.Imm(asm.R4, int32(i<<8)), // BPF_F_USER_STACK
				asm.FnGetStack.Call())
		}
	}
	ins = append(ins, asm.Mov.Imm(asm.R0, 0).WithSymbol("end"), asm.Return())
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.TracePoint, License: "GPL", Instructions: ins})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	l, err := link.Tracepoint("raw_syscalls", "sys_enter", p, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
}
