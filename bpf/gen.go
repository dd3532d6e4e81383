package bpf

import (
	"errors"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/eval"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/bpf/outbox"
	"ppscript/bpf/state"
	"ppscript/bpf/walk"
	"ppscript/runtime/event"
)

// An Image is a Part as programs and maps, ready to be loaded.
type Image struct {
	load.Image
	Part   *Part
	layout *layout
	host   *Host
	long   []*eval.LongTexts // by program

	// Times says that programs read the time, which is CLOCK_MONOTONIC's.
	Times bool
}

// Generate makes the programs of a part for a target. The error is a *Refusal if
// it cannot run in the kernel.
func Generate(p *Part, host *Host, t *Target) (im *Image, err error) {
	return spilling(assembler.New, func(code func() *code) (*Image, error) {
		return generate(p, host, t, code)
	})
}

// spillFrom is the size in bytes from which places of programs that spill lie in scratch memory:
// keys, texts and records are that large, few others.
const spillFrom = 64

// spilling calls generate with codes whose places are all on the stack. If that is too small, it does so
// again with codes whose large places lie in scratch memory, which costs each event a look-up.
func spilling(code func() *code, generate func(code func() *code) (*Image, error)) (*Image, error) {
	im, err := generate(code)
	var no *Refusal
	if !errors.As(err, &no) || !no.Stack {
		return im, err
	}
	return generate(func() *assembler.Code {
		c := code()
		c.Spills = spillFrom
		return c
	})
}

// generate generates into the codes that code makes.
func generate(p *Part, host *Host, t *Target, code func() *code) (im *Image, err error) {
	defer caught(&im, &err)
	s := p.followed()
	im = &Image{Image: load.Image{Target: t, Asks: s.asks()}, Part: p, layout: s, host: host}
	at := t
	if im.Asks {
		// The programs run for all tasks, and check which task an event is
		// about.
		at = &Target{CPUs: t.CPUs}
	}
	for _, e := range s.sources {
		if e.Schema.Weighted() && (at.InSet() || len(at.PIDs)+len(at.TIDs)+len(at.Cgroups) > 0) {
			// perf brings these to the task that waited, not the one that runs.
			refuse("%s is about another task than the running one", e.Label)
		}
		if e.Sampled && im.Asks && !e.keepsEvents() {
			refuse("%s samples the target, and the script tells by itself which threads it is about", e.Label)
		}
		if !e.Sampled && e.Probe == nil && (e.Schema.System == "" || len(e.Schema.Fields) == 0) {
			refuse("%s is not a tracepoint", e.Label)
		}
	}
	s.serve(host)
	s.prepare(host)
	s.keeps(p.KeptBytes)
	var savers []load.Program
	for i, e := range s.sources {
		if e.served {
			continue
		}
		h := hook.New(code(), host, e.Event, i, im.Target)
		h.Linked = len(e.serves) > 1
		if !e.whole() && !e.keepsAlone(host) {
			nodes := s.nodes(i)
			if len(e.calls) > 0 {
				nodes = append(nodes, hook.CallNumber)
			}
			h.PickRaw(nodes, e.stacked)
		}
		h.PickSaved(s.nodes(i), e.stacked)
		g := im.newGen(h)
		g.program(at)
		im.long = append(im.long, g.gate.eval.Long)
		p := load.Program{
			Label: e.Label, Kind: h.Kind, Attach: e.Schema.FullName(), Event: i,
			Type: e.Schema.Type, ID: e.Schema.ID, Places: e.serves, User: e.Probe != nil && e.Probe.User,
			Everywhere: e.Sampled && e.keepsEvents(),
		}
		switch {
		case h.Raw != nil:
			p.Attach = h.Raw.Name
		case h.Saved != "":
			p.Kind, p.Attach = ebpf.RawTracepoint, h.Saved
			saver, record := h.Saver(code())
			im.define(record.ID, record.Spec)
			savers = append(savers, saver)
		}
		p.Ins = h.Code.Finish()
		im.scratch(h.Code)
		if e.Probe != nil && len(e.serves) == 1 {
			p.Direct = im.direct(hook.New(code(), host, e.Event, i, im.Target), at)
		}
		im.Programs = append(im.Programs, p)
	}
	if probes := s.probes(); len(probes) > 1 {
		hook.Sessions(&im.Image, host, probes)
	}
	im.postponed(code)
	im.common()
	eval.LongTextMaps(host, im.long, im.define)
	if im.layout.sending() {
		outbox.Maps(im.define)
	}
	im.keptMaps()
	im.lateTexts(host)
	im.flushes(code)
	im.trackers(host, t)
	im.Programs = append(im.Programs, savers...)
	im.referred()
	return im, nil
}

// probes are the probes that have programs, by the number of their event.
func (s *layout) probes() map[int]hook.Probed {
	probes := map[int]hook.Probed{}
	for i, e := range s.sources {
		if e.Probe != nil && !e.served {
			probes[i] = hook.Probed{Event: e.Event, Nodes: s.nodes(i)}
		}
	}
	return probes
}

// direct is the program of a probe as the function calls it by itself; nil if it cannot.
func (im *Image) direct(h *hook.Hook, t *Target) (d *load.Direct) {
	s := im.layout
	e := s.sources[h.Index]
	if !h.PickDirect(s.nodes(h.Index), e.stacked, s.sending()) {
		return nil
	}
	defer func() {
		if err := recover(); err != nil {
			if _, refused := err.(*Refusal); !refused {
				panic(err)
			}
			d = nil
		}
	}()
	im.newGen(h).program(t)
	im.scratch(h.Code)
	return &load.Direct{Function: h.Direct.Function, Return: e.Probe.Return, Ins: h.Code.Finish()}
}

// sending reports that records leave the kernel.
func (s *layout) sending() bool {
	return slices.ContainsFunc(s.sources, (*source).emits) || len(s.sentDerived()) > 0
}

// A gen generates the program of one event. For each kind of operator there is a
// type that generates its part of the program.
type gen struct {
	image *Image
	gate  *gate
}

// newGen generates the program of a hook.
func (im *Image) newGen(h *hook.Hook) *gen {
	e := eval.New(h)
	w := &walk.Stacks{Code: h.Code, Hook: h, Members: e.Members}
	w.Kernel, w.User = im.layout.chain()
	return &gen{im, &gate{code: h.Code, eval: e, walk: w}}
}

// program generates the program, for a target.
func (g *gen) program(t *Target) {
	c, eval, layout := g.gate.code, g.gate.eval, g.image.layout
	members, nodes := eval.Members, layout.nodes(eval.Hook.Index)
	members.Foresee(nodes...)
	exit := c.Label()
	c.Emit(asm.Mov.Reg(asm.R6, asm.R1))
	eval.Hook.TakeRecord(exit)
	var budget assembler.Gate
	if layout.weighed {
		budget = assembler.NewGate(c, byKey(layout), load.StatsMap.Of(eval.Hook.Index), exit)
		g.gate.share = state.KeyShare{Code: c, Weight: budget.Weight,
			Stats: load.StatsMap.Of(eval.Hook.Index)}
	} else {
		assembler.Open(c, exit)
	}

	eval.Hook.CheckRecord(exit)
	c.FindScratch(exit)
	eval.Hook.Arguments()
	if len(layout.sources[eval.Hook.Index].calls) > 0 {
		eval.Hook.FindCall(exit)
	}
	preds, e := early(layout.sources[eval.Hook.Index])
	eval.Fail = exit // not used
	for _, p := range preds {
		eval.Test(p, false, exit)
	}
	if e.Sampled {
		members.Check(&Target{}, nil, exit)
	} else {
		members.Check(t, e.CPUs, exit)
	}
	done := c.Label()
	end := eval.Hook.Alone(exit)
	members.Fetch(nodes)

	if layout.counted && len(e.feeds) == 1 {
		g.gate.counted = &e.feeds[0]
	}
	if e.Filter != nil {
		fail, pass := c.Label(), c.Label()
		eval.Fail = fail
		eval.Test(e.Filter, true, pass)
		c.GoTo(done)
		c.Place(fail)
		g.gate.count(load.StatErrors)
		c.GoTo(done)
		c.Place(pass)
	}
	if !e.Sampled {
		assembler.OneOf(c, e.Period, load.StatsMap.Of(eval.Hook.Index), done)
	}
	if layout.counted && g.gate.counted == nil {
		g.gate.count(load.StatTaken)
	}
	if len(layout.derived) > 0 {
		members.FetchTime()
	} else {
		members.Now()
	}
	g.image.Times = g.image.Times || members.WantsTime()

	for i := range e.feeds {
		g.feed(&e.feeds[i])
	}
	c.Place(done)
	c.Reached() // it is reached at least from above
	end()
	c.Place(exit)
	budget.End(c)
	// 0 drops the sample of a sampled event. Nobody else sees the event of a probe, and
	// with 0 the kernel makes no record of it; functions that call programs want it.
	c.Emit(asm.Mov.Imm(asm.R0, int32(event.Bit(!e.Sampled && e.Probe == nil))), asm.Return())
}

// feed brings the event, or the pair, to where it goes.
func (g *gen) feed(f *feed) {
	mark := g.gate.code.Stack
	switch {
	case f.emit != nil:
		s := &sender{gate: g.gate, record: f.emit, source: g.image.layout.sources[g.gate.eval.Hook.Index]}
		if out := g.gate.eval.Env.Out; out != nil {
			s.fold = g.image.layout.folds[out.Fold.Index]
		}
		s.feed(f)
	case f.join != nil:
		j := &joiner{gate: g.gate, join: f.join, input: f.input, pairs: g.feed, kept: &g.image.layout.kept,
			chained: len(g.image.layout.derived) > 0}
		j.feed(f)
	case f.fold != nil:
		s := &folder{gate: g.gate, fold: f.fold, next: g.feed}
		s.feed(f)
	default:
		g.table(f)
	}
	g.gate.code.Stack = mark
}

// table brings the event, or a derived event, to a table.
func (g *gen) table(f *feed) {
	t := &grouper{gate: g.gate, unit: g.image.unitOf(f.table, g.gate.eval.Hook.Index)}
	out := g.gate.code.Label()
	own := byKey(g.image.layout) && g.gate.share.Hash == 0
	if own {
		g.gate.share.Chance(out)
	}
	t.feed(f)
	if own {
		g.gate.share.Hash = 0
	}
	g.gate.code.Place(out)
}

// caught is deferred by functions that generate: it turns a panic with a
// refusal into their error.
func caught(im **Image, err *error) {
	switch r := recover().(type) {
	case nil:
	case *Refusal:
		*im, *err = nil, r
	default:
		panic(r)
	}
}

// The generator writes programs with the assembler, and refuses what it cannot write.
type (
	code  = assembler.Code
	label = assembler.Label

	// A Refusal says why something cannot run in the kernel.
	Refusal = assembler.Refusal
)

func refuse(format string, args ...any) { assembler.Refuse(format, args...) }
