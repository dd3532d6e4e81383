package bpf

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/eval"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file flushes the states of folds. At the end of an interval ppscript has a program
// run for each state: under the state's lock it copies the state out, with the time, and
// changes it as the flush function does. What that function emits is made in ppscript, of
// the copy, by the function itself; so what it emits need not be anything that a program
// can make, and what it changes is never lost, whatever events come meanwhile.
//
// The tempting alternative, to read the map and write back what changed, would overwrite
// what programs wrote in between, and see states in the middle of a step.

// Programs are attached and detached one after the other. If steps ran meanwhile, a
// state would miss events of some programs. So steps run only while all programs are
// attached, and all states end at one moment.

// What the program returns.
const (
	flushGone = 0 // there is no such state
	flushDone = 1
	flushBusy = 2 // another program works on it
)

// flushNode is the part of a flush function that changes the state, which a program
// must run; nil if it changes nothing.
func (f *foldOp) flushNode() expr.Node {
	n := nodeOf(f.spec.Flush)
	changes := false
	expr.Walk(n, func(n expr.Node) bool {
		switch n.(type) {
		case *expr.StoreState, *expr.StoreElem:
			changes = true
		}
		return !changes
	})
	if !changes {
		return nil
	}
	for _, r := range expr.UsesOf(n).Fields {
		if len(f.Cols) > 1 && r.F.Place == event.InSlot {
			refuse("a flush function that changes the state and reads a key of several columns")
		}
		if !hook.IsTime(r) && (r.F.Place != event.InSlot || r.Part != expr.Self) {
			refuse("a flush function that changes the state and reads %s", r.F.Name)
		}
	}
	return n
}

// flushEnv is the environment of a flush function: the state, and an event with the
// key. Places are not known while layouts are settled.
func (f *foldOp) flushEnv(state int16, places []int16) eval.Env {
	v := eval.Env{Fold: &eval.FoldState{Fold: &f.Fold, State: state},
		Out: &eval.EmitScope{Fold: &f.Fold, Places: places}}
	if len(f.Cols) == 1 && !f.Cols[0].Stack {
		v.Out.Sizes = []int{f.Cols[0].Size} // a tuple is nothing that a program reads
	}
	return v
}

// flushes adds the programs that flush states, and their maps.
func (im *Image) flushes(code func() *code) {
	for _, f := range im.layout.folds {
		if f.spec.Flush == nil {
			continue
		}
		area := load.FlushMap.Of(f.Index)
		im.define(area, &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, MaxEntries: 1,
			ValueSize: uint32(load.FlushKey + f.KeyLen + f.size), Flags: mmapable})
		l := load.Flush{Spec: f.spec, States: load.FoldMap.Of(f.Index), Area: area, Program: len(im.Programs),
			Finished: flushDone, Busy: flushBusy, Cols: f.Cols, KeyLen: f.KeyLen,
			Born: foldBorn / 8, First: foldSlots / 8, Begin: f.initial()}
		for i := range f.Texts {
			l.Texts = append(l.Texts, load.Column{Text: true, Off: f.Texts[i], Size: f.Rooms[i]})
		}
		im.Flushes = append(im.Flushes, l)
		im.Programs = append(im.Programs, load.Program{Label: "flush", Kind: ebpf.RawTracepoint,
			Ins: im.flush(f, code()), Event: -1})
	}
}

const mmapable = 1 << 10 // BPF_F_MMAPABLE

// flush is the program that flushes one state of a fold.
func (im *Image) flush(f *foldOp, c *code) asm.Instructions {
	e := &Event{Label: "the flush function", Schema: f.spec.FlushStream.Schema}
	h := hook.New(c, im.host, e, -1, im.Target)
	h.Kind = ebpf.RawTracepoint
	v := eval.New(h)
	gone, busy, end := c.Label(), c.Label(), c.Label()
	v.Members.Foresee(cpuNode)
	v.Members.Check(&Target{}, nil, gone)
	c.FindScratch(gone)

	key, state := c.Alloc(f.KeyLen), c.Alloc(8)
	area := load.FlushMap.Of(f.Index)
	c.MapValue(asm.R1, area, 0)
	for i := 0; i < f.KeyLen; i += 8 {
		c.Emit(asm.LoadMem(asm.R0, asm.R1, int16(load.FlushKey+i), asm.DWord))
		c.Store(key+int16(i), asm.R0)
	}
	c.Get(load.FoldMap.Of(f.Index), key, gone)
	c.Store(state, asm.R0)
	lockState(v, state, busy)
	at := v.Members.FetchTime()
	c.MapValue(asm.R2, area, 0)
	running := c.Label()
	c.Emit(asm.LoadMem(asm.R0, asm.R2, load.FlushEnd, asm.DWord))
	c.IfImm(asm.JEq, asm.R0, 0, running)
	c.Store(at, asm.R0) // the end
	c.Place(running)
	c.Load(asm.R0, at)
	c.Emit(asm.StoreMem(asm.R2, load.FlushTime, asm.R0, asm.DWord))
	c.Load(asm.R1, state)
	for i := 0; i < f.size; i += 8 {
		c.Emit(asm.LoadMem(asm.R0, asm.R1, int16(i), asm.DWord),
			asm.StoreMem(asm.R2, int16(load.FlushKey+f.KeyLen+i), asm.R0, asm.DWord))
	}

	if n := f.flushNode(); n != nil {
		// A failure ends the function, here as in ppscript, which counts it.
		v.Fail = c.Label()
		v.Env = f.flushEnv(state, []int16{key})
		v.Run(n, func(n *expr.Emit) { evaluated(v, n) })
		c.Place(v.Fail)
		c.Reached()
	}
	unlockState(c, state)
	c.Emit(asm.Mov.Imm(asm.R0, flushDone))
	c.GoTo(end)
	c.Place(busy)
	c.Emit(asm.Mov.Imm(asm.R0, flushBusy))
	c.GoTo(end)
	c.Place(gone)
	c.Emit(asm.Mov.Imm(asm.R0, flushGone))
	c.Place(end)
	c.Emit(asm.Return())
	im.scratch(c)
	return c.Finish()
}

// evaluated evaluates an emitted event only to notice failures.
func evaluated(e *eval.Eval, n *expr.Emit) {
	mark := e.Code.Stack
	for _, a := range n.Args {
		if a.Type().Kind == expr.Str {
			e.AllocText(a)
		} else {
			e.Num(a)
		}
	}
	e.Code.Stack = mark
}
