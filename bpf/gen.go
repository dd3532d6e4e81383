package bpf

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/runtime/expr"
)

// An Image is a Spec as programs and maps, ready to be loaded.
type Image struct {
	Spec     *Spec
	Target   *Target
	Programs []Program
	Maps     []Map
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
	event  int // in Spec.Events, -1 for those of our own
}

// Where says what the program is called by.
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
// programs share rows: one that interrupts another on its CPU would spoil
// what that one is about to write. They are added up when they are read.
type unit struct {
	table   *Table
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
	spec  *Spec
	image *Image
	index int // of the program

	raw  *rawPoint
	kind ebpf.ProgramType

	scope scope
	fail  label // where failed evaluations go
	facts facts
	pair  *pairEnv
	fold  *foldEnv
	out   *emitEnv
	// counted is the one feed of an event that is counted: what its predicates
	// leave out does not count. Events that feed several count for all.
	counted *Feed
}

// Generate makes the programs of s for a target. The error is a *Refusal if s
// cannot run in the kernel.
func Generate(s *Spec, host *Host, t *Target) (im *Image, err error) {
	defer caught(&im, &err)
	im = &Image{Spec: s, Target: t, host: host, asks: s.asks()}
	gens := make([]*gen, len(s.Events))
	at := t
	if im.asks {
		// The programs run for all, and ask whom an event is about.
		at = &Target{CPUs: t.CPUs}
	}
	for i, e := range s.Events {
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
		gens[i] = &gen{code: newCode(), host: host, spec: s, image: im, index: i, kind: ebpf.TracePoint}
		if e.Sampled {
			gens[i].kind = ebpf.PerfEvent
		}
	}
	s.prepare(gens)
	for i, e := range s.Events {
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
func (s *Spec) prepare(gens []*gen) {
	feeds := map[*Table][]keyed{}
	for i, j := range s.Joins {
		j.index = i
		s.prepareJoin(j, gens)
		for _, p := range j.Pairs {
			env := &pairEnv{join: j, start: p.Start}
			for _, f := range p.Feeds {
				if f.Table == nil {
					continue
				}
				g := *gens[p.End]
				g.pair = env
				feeds[f.Table] = append(feeds[f.Table], keyed{&g, f.Keys})
			}
		}
	}
	for i, e := range s.Events {
		for _, f := range e.Feeds {
			if f.Emit != nil {
				gens[i].layRecord(f.Emit)
			}
			if f.Table != nil {
				feeds[f.Table] = append(feeds[f.Table], keyed{gens[i], f.Keys})
			}
		}
	}
	for i, f := range s.Folds {
		f.index = i
		s.prepareFold(f, gens)
		s.stepsOf(f, gens, func(g *gen, _ *Feed) {
			out := *g
			out.pair, out.out = nil, &emitEnv{fold: f}
			for _, e := range f.Feeds {
				feeds[e.Table] = append(feeds[e.Table], keyed{&out, e.Keys})
			}
		})
	}
	for i, t := range s.Tables {
		*t = Table{Name: t.Name, Aggs: t.Aggs, Args: t.Args, Limit: t.Limit, index: i}
		if len(feeds[t]) == 0 {
			refuse("nothing feeds %s", t.Name)
		}
		t.cols, t.keyLen = columnsOf(feeds[t])
		t.layout()
	}
}

// nodes lists all that event i's program evaluates.
func (s *Spec) nodes(i int) []expr.Node {
	var all []expr.Node
	add := func(ns ...expr.Node) {
		for _, n := range ns {
			if n != nil {
				all = append(all, n)
			}
		}
	}
	var feed func(f *Feed)
	feed = func(f *Feed) {
		add(f.Preds...)
		add(f.Keys...)
		add(f.Key, f.Role, f.Wakes, f.WakesOn, f.Next)
		if f.Wakes != nil {
			add(tidNode)
		}
		if f.Next != nil {
			add(cpuNode)
		}
		if f.Emit != nil {
			for _, field := range f.Emit.Fields {
				add(field)
			}
			add(tidNode)
			add(f.Emit.Texts...)
		}
		for _, a := range f.Args {
			if !a.Off {
				add(a.Fn, a.Where)
			}
		}
		if f.Fold == nil {
			return
		}
		add(f.Step)
		if f.Fold.locked {
			add(cpuNode)
		}
		for k := range f.Fold.Feeds {
			feed(&f.Fold.Feeds[k])
		}
	}
	add(s.Events[i].Filter)
	for k := range s.Events[i].Feeds {
		feed(&s.Events[i].Feeds[k])
	}
	for _, j := range s.Joins {
		for k := range j.Pairs {
			if j.Pairs[k].End == i {
				for f := range j.Pairs[k].Feeds {
					feed(&j.Pairs[k].Feeds[f])
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
func (g *gen) program(e *Event, t *Target) {
	c := g.code
	var pid, cpu, time bool
	for _, n := range g.spec.nodes(g.index) {
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
	g.moment(g.spec.nodes(g.index))
	if g.spec.Counted && len(e.Feeds) == 1 {
		g.counted = &e.Feeds[0]
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
	if g.spec.Counted && g.counted == nil {
		g.count(statTaken)
	}
	if time {
		c.call(asm.FnKtimeGetNs)
		g.facts.time = c.alloc(8)
		c.store(g.facts.time, asm.R0)
	}
	for i := range e.Feeds {
		g.feed(&e.Feeds[i])
	}
	c.place(exit)
	c.dead = false // it is reached at least from above
	c.emit(asm.Mov.Imm(asm.R0, int32(b2i(!e.Sampled))), asm.Return())
}

// takes goes on with what f's predicates let through. One that cannot be
// evaluated goes where failures go.
func (g *gen) takes(f *Feed, others label) {
	for _, p := range f.Preds {
		g.test(p, false, others)
	}
	if f == g.counted {
		g.count(statTaken)
	}
}

// feed brings the event, or the pair, to where it goes.
func (g *gen) feed(f *Feed) {
	mark := g.code.stack
	switch {
	case f.Emit != nil:
		g.emitFeed(f)
	case f.Join != nil:
		g.joinFeed(f)
	case f.Fold != nil:
		g.foldFeed(f)
	default:
		g.tableFeed(f)
	}
	g.code.stack = mark
}

// What a program counts beside its tables: for joins and filters together, then
// for each table.
const (
	statErrors = iota
	statUnmatched
	statEvicted
	statLost
	statTaken
	statTables
)

func (t *Table) statErrors() int  { return statTables + 2*t.index }
func (t *Table) statEvicted() int { return statTables + 2*t.index + 1 }

// stats is the number of statistics of each program.
func (s *Spec) stats() int { return statTables + 2*len(s.Tables) }

// generations is how many maps there are of what is read while events come.
func (s *Spec) generations() int {
	if s.Intervals {
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
