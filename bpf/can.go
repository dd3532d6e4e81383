package bpf

import (
	"ppscript/bpf/assembler"
	"ppscript/bpf/eval"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/runtime/expr"
)

// This file answers whether a program could be generated. It runs the generator
// itself and drops the code: a separate table of its abilities would differ from
// it one day.
//
// What a Host cannot know is left to Generate and to the kernel: a program that
// is too long, or that the verifier does not understand.

// Can says whether a program of an event can evaluate an expression on it: nil,
// or a *Refusal that says why not.
func Can(n expr.Node, e *Event, host *Host) (err error) {
	defer caught(new(*Image), &err)
	s := &layout{sources: []*source{{Event: e}}}
	im := &Image{Image: load.Image{Target: &Target{}}, host: host, layout: s}
	h := hook.New(assembler.NewDry(), host, e, 0, im.Target)
	nodes := append([]expr.Node{n}, expr.Reads(n)...)
	h.PickRaw(nodes, false)
	v := eval.New(h)
	v.Fail = h.Code.Label()
	h.Code.Spills = spillFrom
	h.Code.FindScratch(v.Fail)
	v.Members.Foresee(nodes...)
	v.Members.Check(im.Target, nil, v.Fail)
	v.Members.Fetch(nodes)
	v.Members.Now()
	if n.Type().Kind == expr.Str {
		v.AllocText(n)
	} else {
		v.Value(n)
	}
	return nil
}

// Can says whether a part can run in the kernel: nil, or a *Refusal that says why
// not.
func (p *Part) Can(host *Host, t *Target) error {
	_, err := spilling(assembler.NewDry, func(code func() *code) (*Image, error) {
		return generate(p, host, t, code)
	})
	return err
}
