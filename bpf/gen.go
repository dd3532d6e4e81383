package bpf

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/runtime/expr"
)

// An Image is a Part as programs and maps, ready to be loaded.
type Image struct {
	Part     *Part
	Target   *Target
	Programs []Program
	Maps     []Map
	graph    *graph
	units    []*unit
	host     *Host
	follow   bool // of children
	asks     bool // there is a set of threads
}

// A Program is the code of one event.
type Program struct {
	Label  string
	Kind   ebpf.ProgramType // TracePoint, RawTracepoint, PerfEvent, or Tracing: a typed raw one
	Attach string           // "system:name", or the raw tracepoint's name
	Ins    asm.Instructions
	event  int // in Part.Events, -1 for those of our own
}

// Where is the hook that calls the program.
func (p *Program) Where() string {
	switch p.Kind {
	case ebpf.PerfEvent:
		return "samples of " + p.Attach
	case ebpf.RawTracepoint:
		return "raw tracepoint " + p.Attach
	case ebpf.Tracing:
		return "typed raw tracepoint " + p.Attach
	}
	return "tracepoint " + p.Attach
}

// A unit is the maps in which one program keeps the rows of one table. No two
// programs share rows: one that interrupts another on its CPU would spoil the
// row that that one is about to write. They are added up when they are read.
type unit struct {
	table   *table
	program int
	rows    []mapID // by generation
	spare   []mapID
	dense   []mapID
	sketch  []mapID
}

// gen generates one program.
type gen struct {
	code  *code
	host  *Host
	graph *graph
	image *Image
	index int // of the program

	raw  *rawPoint
	kind ebpf.ProgramType

	scope   scope
	fail    label // where failed evaluations go
	members members
	env     env
	// counted is the one feed of an event that is counted: events that its
	// predicates leave out do not count. Events that feed several count for
	// all.
	counted *feed
}

// Generate makes the programs of a part for a target. The error is a *Refusal if
// it cannot run in the kernel.
func Generate(p *Part, host *Host, t *Target) (im *Image, err error) {
	return generate(p, host, t, newCode)
}

// generate generates into the codes that code makes.
func generate(p *Part, host *Host, t *Target, code func() *code) (im *Image, err error) {
	defer caught(&im, &err)
	s := p.followed()
	im = &Image{Part: p, Target: t, graph: s, host: host, asks: s.asks()}
	gens := make([]*gen, len(s.sources))
	at := t
	if im.asks {
		// The programs run for all, and ask whom an event is about.
		at = &Target{CPUs: t.CPUs}
	}
	for i, e := range s.sources {
		if weighted(e.Schema) && (at.sets() || len(at.PIDs)+len(at.TIDs)+len(at.Cgroups) > 0) {
			// perf brings these to the task that waited, not the one that runs.
			refuse("%s is about another task than the running one", e.Label)
		}
		if e.Sampled && im.asks {
			refuse("%s samples the target, and the script tells by itself which threads it is about", e.Label)
		}
		if !e.Sampled && (e.Schema.System == "" || len(e.Schema.Fields) == 0) {
			refuse("%s is not a tracepoint", e.Label)
		}
		gens[i] = &gen{code: code(), host: host, graph: s, image: im, index: i, kind: ebpf.TracePoint}
		if e.Sampled {
			gens[i].kind = ebpf.PerfEvent
		}
	}
	s.prepare(host)
	for i, e := range s.sources {
		g := gens[i]
		if !e.whole() {
			g.pickRaw(e, s.nodes(i))
		}
		g.program(e, at)
		p := Program{Label: e.Label, Kind: g.kind, Attach: e.Schema.FullName(), event: i}
		if g.raw != nil {
			p.Attach = g.raw.name
		}
		p.Ins = g.code.finish()
		im.Programs = append(im.Programs, p)
	}
	im.common()
	im.outputs()
	im.trackers(host, t)
	return im, nil
}

// prepare settles the layouts that several programs share.
func (s *graph) prepare(host *Host) {
	feeds := map[*table][]keyed{}
	for _, j := range s.joins {
		s.prepareJoin(j, host)
		for _, p := range j.pairs {
			pair := env{pair: &pairEnv{join: j, start: p.start}}
			for _, f := range p.feeds {
				if f.table != nil {
					feeds[f.table] = append(feeds[f.table], keyed{s.sources[p.end], pair, f.keys})
				}
			}
		}
	}

	for _, e := range s.sources {
		for _, f := range e.feeds {
			if f.emit != nil {
				f.emit.lay()
			}
			if f.table != nil {
				feeds[f.table] = append(feeds[f.table], keyed{e, env{}, f.keys})
			}
		}
	}

	for _, f := range s.folds {
		s.prepareFold(f, host)
		out := env{out: &emitEnv{fold: f}}
		s.stepsOf(f, func(e *source, _ env, _ *feed) {
			for i := range f.feeds {
				to := &f.feeds[i]
				feeds[to.table] = append(feeds[to.table], keyed{e, out, to.keys})
			}
		})
	}

	for _, t := range s.tables {
		t.cols, t.keyLen = columnsOf(feeds[t])
		t.layout()
	}
}

// nodes lists all that event i's program evaluates.
func (s *graph) nodes(i int) []expr.Node {
	var all []expr.Node
	add := func(ns ...expr.Node) {
		for _, n := range ns {
			if n != nil {
				all = append(all, n)
			}
		}
	}
	var reads func(f *feed)
	reads = func(f *feed) {
		add(f.preds...)
		add(f.keys...)
		add(f.key, f.role, f.wakes, f.wakesOn, f.next)
		if f.wakes != nil {
			add(tidNode)
		}
		if f.next != nil {
			add(cpuNode)
		}
		if f.emit != nil {
			for _, field := range f.emit.Fields {
				add(field)
			}
			add(tidNode)
			add(f.emit.Texts...)
		}
		for _, a := range f.args {
			if !a.off {
				add(a.fn, a.where)
			}
		}
		if f.fold == nil {
			return
		}
		add(f.step)
		if f.fold.locked {
			add(cpuNode)
		}
		for k := range f.fold.feeds {
			reads(&f.fold.feeds[k])
		}
	}
	add(s.sources[i].Filter)
	for k := range s.sources[i].feeds {
		reads(&s.sources[i].feeds[k])
	}
	for _, j := range s.joins {
		for k := range j.pairs {
			if j.pairs[k].end == i {
				for f := range j.pairs[k].feeds {
					reads(&j.pairs[k].feeds[f])
				}
			}
		}
		for _, sf := range j.saved {
			if sf.event == i {
				add(sf.field)
			}
		}
	}
	return all
}

// program generates the program of e.
func (g *gen) program(e *source, t *Target) {
	c := g.code
	var pid, cpu, time bool
	for _, n := range g.graph.nodes(g.index) {
		g.needs(n, &pid, &cpu, &time)
	}
	exit := c.label()
	c.emit(asm.Mov.Reg(asm.R6, asm.R1))
	preds, e := early(e)
	g.fail = exit // not used
	for _, p := range preds {
		g.test(p, false, exit)
	}
	if e.Sampled {
		g.target(&Target{}, nil, pid, cpu, exit)
	} else {
		g.target(t, e.CPUs, pid, cpu, exit)
	}
	g.context(g.graph.nodes(g.index))
	if g.graph.counted && len(e.feeds) == 1 {
		g.counted = &e.feeds[0]
	}
	if e.Filter != nil {
		fail, pass := c.label(), c.label()
		g.fail = fail
		g.test(e.Filter, true, pass)
		c.goTo(exit)
		c.place(fail)
		g.count(statErrors)
		c.goTo(exit)
		c.place(pass)
	}
	if g.graph.counted && g.counted == nil {
		g.count(statTaken)
	}
	if time {
		c.call(asm.FnKtimeGetNs)
		g.members.time = c.alloc(8)
		c.store(g.members.time, asm.R0)
	}
	for i := range e.feeds {
		g.feed(&e.feeds[i])
	}
	c.place(exit)
	c.dead = false // it is reached at least from above
	c.emit(asm.Mov.Imm(asm.R0, int32(b2i(!e.Sampled))), asm.Return())
}

// takes goes on with events that f's predicates let through. If one
// cannot be evaluated, it jumps to the failure label.
func (g *gen) takes(f *feed, others label) {
	for _, p := range f.preds {
		g.test(p, false, others)
	}
	if f == g.counted {
		g.count(statTaken)
	}
}

// feed brings the event, or the pair, to where it goes.
func (g *gen) feed(f *feed) {
	mark := g.code.stack
	switch {
	case f.emit != nil:
		g.emitFeed(f)
	case f.join != nil:
		g.joinFeed(f)
	case f.fold != nil:
		g.foldFeed(f)
	default:
		g.tableFeed(f)
	}
	g.code.stack = mark
}

// The counters of a program beside its tables: for joins and filters together,
// then for each table.
const (
	statErrors = iota
	statUnmatched
	statEvicted
	statLost
	statTaken
	statTables
)

func (t *table) statErrors() int  { return statTables + 2*t.index }
func (t *table) statEvicted() int { return statTables + 2*t.index + 1 }

// stats is the number of statistics of each program.
func (s *graph) stats() int { return statTables + 2*len(s.tables) }

// generations is the number of copies of maps that are read while events come.
func (s *graph) generations() int {
	if s.intervals {
		return 2
	}
	return 1
}

// count adds 1 to a statistic. R0 to R5 are lost.
func (g *gen) count(stat int) {
	c := g.code
	if c.dead {
		return
	}
	mark := c.stack
	skip := c.label()
	k := c.alloc(8)
	c.zero(k, 8)
	c.get(statsMap.of(g.index), k, skip)
	c.emit(asm.LoadMem(asm.R1, asm.R0, int16(8*stat), asm.DWord), asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R0, int16(8*stat), asm.R1, asm.DWord))
	c.place(skip)
	c.stack = mark
}
