package load

import (
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
)

// This file has one link call the programs of a call and of its return: a session, of the
// kernel (6.10) or of a program (6.13). The kernel then looks for the programs to call
// once, and keeps one note of the call instead of one for each link.

// A Session is a program of a call together with that of its return.
type Session struct {
	Return int // the program of the return, in Image.Programs
	// Ins begins with the choice of the two.
	Ins asm.Instructions
}

// uprobeSession is BPF_TRACE_UPROBE_SESSION.
const uprobeSession = ebpf.AttachType(57)

// farthest is how far a jump goes.
const farthest = 1 << 15

// Pair has the program at index call and that at index ret form a session. isReturn is the
// number of the kernel's function that says for which of the two it runs.
func (im *Image) Pair(call, ret, isReturn int) {
	p, back := &im.Programs[call], im.Programs[ret].Ins
	far := 0
	for _, ins := range p.Ins {
		far += int(ins.Width())
	}
	if far >= farthest {
		return
	}
	first := asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Call), Src: asm.PseudoKfuncCall, Constant: int64(isReturn)},
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.And.Imm(asm.R0, 0xff), // it is a bool
		{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.JNE).SetSource(asm.ImmSource), Dst: asm.R0, Offset: int16(far)},
	}
	im.Programs[ret].Returns = true
	p.Session = &Session{Return: ret, Ins: slices.Concat(first, p.Ins, renamed(back))}
}

// renamed are instructions whose places have names that others have not.
func renamed(ins asm.Instructions) asm.Instructions {
	places := map[string]bool{}
	for i := range ins {
		if name := ins[i].Symbol(); name != "" {
			places[name] = true
		}
	}
	ins = slices.Clone(ins)
	for i := range ins {
		if name := ins[i].Symbol(); name != "" {
			ins[i] = ins[i].WithSymbol("return_" + name)
		}
		if name := ins[i].Reference(); places[name] {
			ins[i] = ins[i].WithReference("return_" + name)
		}
	}
	return ins
}

// sessions attaches the programs of calls and returns that stand at the same place by one
// link, as far as the kernel takes them so. The others are attached each by itself: those
// that it does not return.
func sessions(r *Run, t *Target) (together map[int]bool) {
	together = map[int]bool{}
	for i := range r.im.Programs {
		p := &r.im.Programs[i]
		if p.Session == nil {
			continue
		}
		back := &r.im.Programs[p.Session.Return]
		at, to := &r.Places[p.Event], &r.Places[back.Event]
		if at.Config1Text == "" || at.Config1Text != to.Config1Text || at.Config2 != to.Config2 {
			continue
		}
		links := len(r.links)
		if session(r, p, t) == nil {
			together[i], together[p.Session.Return] = true, true
			continue
		}
		for _, detach := range slices.Backward(r.links[links:]) {
			_ = detach() // another way is taken
		}
		r.links = r.links[:links]
	}
	return together
}

// session attaches the program of a session.
func session(r *Run, p *Program, t *Target) error {
	spec, err := codeOf(r.maps, p, p.Session.Ins)
	if err != nil {
		return err
	}
	spec.Type, spec.AttachType = ebpf.Kprobe, ebpf.AttachTraceKprobeSession
	if p.User {
		spec.AttachType = uprobeSession
	}
	prog, err := ebpf.NewProgram(spec)
	if err != nil {
		return err
	}
	// The links hold it.
	defer prog.Close()
	if p.User {
		return eachPID(t, func(pid int) error { return r.plantUser(p, prog, pid) })
	}
	l, err := link.KprobeMulti(prog, link.KprobeMultiOptions{
		Symbols: []string{r.Places[p.Event].Config1Text}, Session: true,
	})
	if err != nil {
		return err
	}
	r.links = append(r.links, l.Close)
	if l, ok := l.(interface{ FD() int }); ok {
		r.missing.links = append(r.missing.links, l.FD())
	}
	return nil
}
