package bpf

import (
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/eval"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/runtime/expr"
)

// This file generates programs that decide which samples of one software or hardware event
// are kept. Only for such events does a program that returns 0 drop the sample of its own
// event alone, and no sample of another user. A sample for which the program cannot
// evaluate a predicate is dropped as well, and counted.

// SampleFilter makes the program that keeps the samples for which all of preds hold.
// The error is a *Refusal if one cannot be evaluated in the kernel.
func SampleFilter(label string, preds []expr.Node, host *Host) (im *Image, err error) {
	defer caught(&im, &err)
	im = &Image{Image: load.Image{Target: &Target{}}, host: host, layout: &layout{}}
	v := eval.New(&hook.Hook{Code: assembler.New(), Host: host, Kind: ebpf.PerfEvent, Target: im.Target})
	c := v.Code
	nodes := slices.Clone(preds)
	for _, p := range preds {
		nodes = append(nodes, expr.Reads(p)...)
	}
	v.Members.Foresee(nodes...)
	drop := c.Label()
	v.Fail = c.Label()
	c.Emit(asm.Mov.Reg(asm.R6, asm.R1))
	v.Members.Check(im.Target, nil, drop)
	v.Members.Fetch(nodes)
	for _, p := range preds {
		v.Test(p, false, drop)
	}
	c.Emit(asm.Mov.Imm(asm.R0, 1), asm.Return())
	if c.Used(v.Fail) {
		c.Place(v.Fail)
		(&gate{code: c, eval: v}).count(load.StatErrors)
		c.GoTo(drop)
		im.Events = 1
		im.define(load.StatsMap.Of(0), &ebpf.MapSpec{Type: ebpf.PerCPUArray, KeySize: 4,
			ValueSize: uint32(8 * load.Stats(0, 0)), MaxEntries: 1})
	}
	c.Place(drop)
	if c.Used(drop) {
		c.Emit(asm.Mov.Imm(asm.R0, 0), asm.Return())
	}
	im.Programs = []load.Program{{
		Label: label, Kind: ebpf.PerfEvent, Attach: label, Ins: c.Finish(), Event: -1,
	}}
	im.referred()
	return im, nil
}
