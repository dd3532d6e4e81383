package bpf

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/runtime/expr"
)

// This file generates programs that decide about the samples of one event of
// the software or the hardware: there, and only there, a program that returns
// 0 drops the sample of its own event and of nobody else's.

// SampleFilter makes the program that keeps the samples for which all of preds hold.
// The error is a *Refusal if one cannot be evaluated in the kernel.
func SampleFilter(label string, preds []expr.Node, host *Host) (im *Image, err error) {
	defer caught(&im, &err)
	im = &Image{Image: load.Image{Target: &Target{}}, host: host, graph: &graph{}}
	v := newEval(&hook.Hook{Code: assembler.New(), Host: host, Kind: ebpf.PerfEvent, Target: im.Target})
	c := v.code
	v.members.Foresee(preds...)
	drop := c.Label()
	v.fail = c.Label()
	c.Emit(asm.Mov.Reg(asm.R6, asm.R1))
	v.members.Check(im.Target, nil, drop)
	v.members.FetchContext(preds)
	v.members.FetchOperands(preds)
	for _, p := range preds {
		v.test(p, false, drop)
	}
	if c.Used(v.fail) {
		refuse("an evaluation that can fail: nobody would count it")
	}
	c.Emit(asm.Mov.Imm(asm.R0, 1), asm.Return())
	c.Place(drop)
	if c.Used(drop) {
		c.Emit(asm.Mov.Imm(asm.R0, 0), asm.Return())
	}
	im.Programs = []load.Program{{
		Label: label, Kind: ebpf.PerfEvent, Attach: label, Ins: c.Finish(), Event: -1,
	}}
	return im, nil
}
