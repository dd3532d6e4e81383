package plan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/plan/placement"
	"ppscript/runtime/result/view"
	"ppscript/runtime/system/memory"
	"ppscript/runtime/text/diag"
)

// An Env is the machine and the options that Build plans for.
type Env struct {
	Catalog  Catalog
	Services *expr.Services
	// Replay says that events come from a recording: filters run natively.
	Replay bool
	// NativeFilters names events (by label) whose filter the kernel refused.
	NativeFilters map[string]bool
	// ByThread says that threads are observed. The default key of joins is then
	// the thread, else the CPU.
	ByThread bool
	// Interpret leaves script functions to the interpreter, where they could
	// be compiled.
	Interpret bool
	// MaxRows bounds the rows of tables; 0 is the default.
	MaxRows int
	// Memory is the memory budget of the run; nil has no bound.
	Memory *memory.Budget
	// Raw shows fields of the kernel as numbers, also where they have names.
	Raw bool
	// Describes says that the plan is only shown, not run. Reports of events that the catalog does
	// not know (diag.Unverified) are then left out, and the plan says so.
	Describes bool
	// Quotas reports that a cgroup of this machine has a CPU quota; nil if that is
	// not known.
	Quotas func() bool
	// KernelEnv says which programs this kernel can run; the zero value allows
	// none.
	KernelEnv placement.Env
	// Note is called with a message for each optional event that does not
	// exist.
	Note func(error)
}

// A Catalog finds the events that a source names: one, or several if the name
// is a glob. Tracefs and recordings implement it.
type Catalog interface {
	Find(s *Source) ([]*event.Schema, error)
}

// Build makes a Plan of what a script returned.
func Build(reports []Report, env Env) (*Plan, error) {
	if len(reports) == 0 {
		return nil, diag.Errorf(diag.Run, "main", "", "returned nothing to run").
			WithHint("return a result, for example: tracepoint(\"sched:sched_switch\").count()")
	}
	unverified := map[string]bool{}
	for {
		p, at, err := buildKnown(reports, env, unverified)
		var why *diag.Unverified
		if at < 0 || !env.Describes || !errors.As(err, &why) {
			return p, err
		}
		unverified[why.Error()] = true
		reports = slices.Delete(slices.Clone(reports), at, at+1)
	}
}

// A pass is one step of Build. reads and writes list the parts of the plan that
// it uses and sets.
type pass struct {
	name, reads, writes string
	run                 func(b *builder) error
}

// passes come once the streams and reports of the script have made the operators, with the branches that
// they take. passes.go of package placement has the passes of place and settle.
var passes = []pass{
	{"exec", "attributes of events", "an operator, its branches", addExecs},
	{"push", "attributes of events", "operators, their branches", addPushes},
	{"set apart", "joins, their histories", "events that a history leaves out", (*builder).setApart},
	{"connect", "events, operators, branches, predicates", "the graph: nodes and edges", (*builder).connect},
	{"place", "the graph, functions, the kernel", "where nodes run; Edge.Remaining; what programs send",
		(*builder).place},
	{"filter", "Edge.Remaining of events with one reader", "filters of events; Edge.Remaining", (*builder).filter},
	{"subject", "keys of joins and folds", "whom events are about that leave ppscript", tellAbout},
	{"join", "what operators see", "what joins keep of events that wait", (*builder).settleJoins},
	{"need", "operators, functions", "Needs: members, order, stacks", (*builder).needs},
	{"settle", "Needs, where nodes run", "Placement, where explain finds it", (*builder).settle},
}

// buildKnown makes a Plan. at is the index of the report that err is about, negative if there is
// none. Events that the catalog does not know are added to unverified.
func buildKnown(reports []Report, env Env, unverified map[string]bool) (p *Plan, at int, err error) {
	b := &builder{env: env, plan: &Plan{memory: env.Memory}, memo: map[Stream][]branch{},
		events: map[int]*Event{}, served: map[int]bool{}, asks: map[int]bool{}, names: reportNames{},
		whose:  map[expr.Node]bool{},
		prints: view.Prints{Raw: env.Raw}, reports: len(reports),
		unverified: unverified, unknown: map[*Source]*diag.Unverified{}}
	if len(reports) > 0 {
		b.plan.first = reports[0]
	}
	if env.Services != nil {
		b.prints.Function, b.prints.NameOf = env.Services.KsymOffset, env.Services.NameOf
	}
	// Events that are opened get the first stream indices, in the order in
	// which the script names them, so that a stream has the same index in the source.
	for i, r := range reports {
		if err := b.findSources(r.Input()); err != nil {
			return nil, i, err
		}
	}
	for i, r := range reports {
		if err := r.build(b); err != nil {
			return nil, i, err
		}
	}
	for _, pass := range passes {
		if err := pass.run(b); err != nil {
			return nil, -1, err
		}
	}
	b.plan.Unverified = slices.Sorted(maps.Keys(b.unverified))
	return b.plan, -1, nil
}

// rows bounds the keys of an operator, in the kernel too. given is the bound from the script or the
// user; 0 is the operator's default, or less where there is little memory. bytes is the size of a
// row without its key. Programs keep each row once for each CPU, and all of them are read at a
// time.
func (b *builder) rows(given, bytes int) int {
	const usual, least = 1 << 17, 256
	if most := b.env.Memory.Share(b.reports, max(least, 4*bytes), usual); most < usual {
		return min(cmp.Or(given, most), most)
	}
	return given
}

type builder struct {
	env    Env
	plan   *Plan
	graph  *graph.Graph      // after the pass connect
	placer *placement.Placer // after the pass place
	memo   map[Stream][]branch
	events map[int]*Event // by stream index
	code
	names    reportNames
	contexts []placement.ContextUse
	texts    []placement.TextUse
	inner    bool               // a profiler's script is being built, not the outer plan's
	served   map[int]bool       // by stream: operators take its events
	asks     map[int]bool       // streams whose events are checked for their thread
	prints   view.Prints        // names of values, for output
	reports  int                // reports among which Memory is divided
	whose    map[expr.Node]bool // values of a Let with Whose
	// unverified are the events of which nothing is known, with the reason.
	unverified map[string]bool
	unknown    map[*Source]*diag.Unverified // the optional sources among unverified
}

// code lists the functions that read events.
type code struct {
	programs []*expr.Program
	calls    []Callable // functions that stay interpreted
	machines []any      // fold machines and batch functions, interpreted too
}

// A root is where events come from: the router (nil), a join, counters.
type root interface {
	// graphNode is the graph's node of the operator that makes the events; nil
	// for the router.
	graphNode() *graph.Node
	// inUserSpace reports that ppscript makes the events, also if programs do the
	// operator's work.
	inUserSpace() bool
	// emitter is the running operator that makes the events of an instance.
	emitter(in *Instance) emitter
}

// A feed has the branches that an operator takes from one root. Each is an edge of the
// graph.
type feed struct {
	op       Operator
	port     int // the operator's sink for this feed; 0 if it has one sink
	root     root
	branches []branch
	edges    []*graph.Edge // one for each branch
	name     string
	prints   bool         // the operator shows or sends them
	about    []flow.About // by stream: the thread that its events are about; nil unless prints
}

// reportNames counts the reports of each name.
type reportNames map[string]int

// next makes the name of a report unique: table, table2, ...
func (n reportNames) next(base string) string {
	n[base]++
	if k := n[base]; k > 1 {
		return fmt.Sprintf("%s%d", base, k)
	}
	return base
}

// newStream adds an event to open and returns the index of its stream.
func (b *builder) newStream(s *Source, schema *event.Schema) int {
	label := schema.FullName()
	if s.Alias != "" {
		label = s.Alias
	}
	st := &event.Stream{Index: len(b.plan.streams), Schema: schema, Label: label}
	if s.Alias != "" && s.Kind.Sampled() {
		st.Title = label
	}
	b.addStream(st)
	e := &Event{Stream: st, Source: s, Stack: sourceStack(s)}
	b.plan.Events = append(b.plan.Events, e)
	b.events[st.Index] = e
	return st.Index
}

// madeStream adds the stream of events that an operator makes.
func (b *builder) madeStream(schema *event.Schema) *event.Stream {
	st := &event.Stream{Index: len(b.plan.streams), Schema: schema, Label: schema.Name}
	b.addStream(st)
	return st
}

func (b *builder) addStream(st *event.Stream) {
	b.plan.streams = append(b.plan.streams, st)
	if b.inner {
		b.served[st.Index] = true
	}
}

// feed brings branches to an operator, through their predicates.
func (b *builder) feed(f feed, branches []branch) {
	for len(branches) > 0 {
		r := branches[0].root
		var same, rest []branch
		for _, br := range branches {
			if br.root == r {
				same = append(same, br)
			} else {
				rest = append(rest, br)
			}
		}
		one := f
		one.root, one.branches = r, same
		b.plan.feeds = append(b.plan.feeds, &one)
		b.plan.mixed = b.plan.mixed || len(rest) > 0
		branches = rest
	}
}

// predicates returns the predicates that are left to ppscript, by stream; any is false if there are none.
func (f *feed) predicates(in *Instance) (each []*expr.Program, any bool) {
	each = make([]*expr.Program, len(in.streams))
	for _, e := range f.edges {
		if p := in.conjunction(e.Remaining); p != nil {
			each[e.Stream] = p
			any = true
		}
	}
	return each, any
}

func sole(branches []branch) int {
	if len(branches) == 1 {
		return branches[0].stream
	}
	return -1
}

// fn compiles f for every branch.
func (b *builder) fn(f Fn, branches []branch, want expr.Kind) (*flow.Fn, error) {
	if err := f.check(branches); err != nil {
		return nil, err
	}
	each := make([]*expr.Program, len(b.plan.streams))
	for _, br := range branches {
		p, err := b.compile(f, &br, want)
		if err != nil {
			return nil, err
		}
		each[br.stream] = p
	}
	return flow.NewFn(each, sole(branches)), nil
}

// distinct checks that no stream comes twice and opens an event again where it
// does: both uses then have their own predicates.
func (b *builder) distinct(branches []branch) ([]branch, error) {
	var seen []int
	for i := range branches {
		br := &branches[i]
		if slices.Contains(seen, br.stream) {
			if br.root != nil {
				return nil, diag.Errorf(diag.Run, "merge", b.plan.streams[br.stream].Label,
					"the same pairs come twice").
					WithHint("join them once, or merge the events before the join")
			}
			e := b.events[br.stream]
			br.stream = b.newStream(e.Source, e.Stream.Schema)
			again := b.events[br.stream]
			again.Filter, again.Native, again.NativeText = e.Filter, e.Native, e.NativeText
			again.Stack = e.Stack
			sc := *br.scope
			sc.Stream = again.Stream
			br.scope = &sc
		}
		seen = append(seen, br.stream)
	}
	return branches, nil
}
