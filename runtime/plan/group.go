package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/result"
	"ppscript/runtime/result/view"
	"ppscript/runtime/text/diag"
)

// An AggCol is one aggregated column.
type AggCol struct {
	Name  string
	Agg   agg.Agg // its Arg and Kind are settled by Build
	Arg   *Fn     // nil for count
	Where *Fn
	Rank  *Fn    // of agg.AtMax and agg.AtMin: the number by which the value is kept; else nil
	Of    Stream // the one stream that counts; nil: all streams
	Pos   string
}

// Histogram says that the group's only aggregator makes a histogram, which is
// no table.
func (g *Group) Histogram() bool { return len(g.Aggs) == 1 && g.Aggs[0].Agg.Op.Histogram() }

// Group aggregates by key into a table, or into a histogram if its only
// aggregator is one.
type Group struct {
	In   Stream
	By   []Var
	Aggs []AggCol
	// Limit bounds the rows; 0 is the default.
	Limit int
	// Tree shows the rows, which are by node, as a tree of calls.
	Tree bool
	View view.View
}

// Input implements Report.
func (g *Group) Input() Stream { return g.In }

// A TableOp is the operator that Build makes of a Group, with the layout of its
// results.
type TableOp struct {
	operator
	Name    string
	Spec    *Group
	Columns []result.Column
	shows   []view.Show // by column; nil shows the value
	names   []view.Show // by aggregator: how values in cells are shown
	// Hist is the index of the aggregator that is a histogram, else -1.
	Hist  int
	calls *JoinOp // the join whose tree of calls the rows are nodes of; nil if none
	spec  agg.Spec
}

// A Table is a TableOp that runs.
type Table struct {
	running
	*TableOp
	Group *agg.Group
	// Tree is the tree of calls that the rows are nodes of; nil if none.
	Tree *join.Tree
	// Until is the time before which all events have come; 0 is the end of the interval.
	// Rows of slots that end later wait for the next one.
	Until event.Time
	slots result.Slots
}

func (g *Group) build(b *builder) error {
	brs, err := b.existing("group", g.In)
	if err != nil {
		return err
	}
	t := &TableOp{Spec: g, Hist: -1, Name: b.names.next("table")}
	spec := agg.Spec{Memory: b.env.Memory}
	for _, v := range g.By {
		fn, err := b.keyFn(v.Fn, brs)
		if err != nil {
			return err
		}
		spec.Keys = append(spec.Keys, fn)
		c := b.prints.KeyColumn(v.Name, fn)
		if v.Fn.Text == InstanceName {
			c.Name, c.Head = instanceName(b, v.Name)
			g = g.renamed(v.Name, c.Name)
			t.Spec = g
		}
		t.Columns = append(t.Columns, c)
		t.shows = append(t.shows, b.prints.Of(fn))
	}
	shared := map[string]int{}
	for i := range g.Aggs {
		c := &g.Aggs[i]
		a, arg, shown, err := c.settle(b, brs)
		if err != nil {
			return err
		}
		if a.Op.Histogram() {
			if len(g.Aggs) > 1 {
				return located(diag.Errorf(diag.Run, "agg", c.Name, "a histogram stands alone").
					WithHint("return it as a result of its own: .hist(...)"), c.Pos)
			}
			t.Hist = i
		}
		// Aggregators over the same argument share one measure.
		identity := c.identity() + a.Linear.String()
		id, known := shared[identity]
		if !known {
			id = len(spec.Args)
			spec.Args = append(spec.Args, arg)
			shared[identity] = id
		}
		a.Arg = id
		spec.Aggs = append(spec.Aggs, a)
		t.Columns = append(t.Columns, b.prints.AggColumn(c.Name, a.Op, shown))
		show := b.prints.Of(shown)
		if !a.Op.Column.Values {
			show = nil
		}
		t.names = append(t.names, show)
		t.shows = append(t.shows, view.Cell(a.Op, show))
	}
	if t.Hist >= 0 {
		t.Name = b.names.next("histogram")
	}
	if err := g.checkWhole(); err != nil {
		return err
	}
	if g.Tree {
		if t.calls, err = treeOf(b, g.In); err != nil {
			return err
		}
	}
	spec.Name = t.Name
	spec.Limit = b.rows(cmp.Or(g.Limit, b.env.MaxRows), spec.RowBytes())
	t.spec = spec
	b.plan.add(t)
	b.feed(feed{op: t, name: t.Name}, brs)
	return nil
}

func (t *TableOp) instantiate(in *Instance) Running {
	run := &Table{TableOp: t, Group: agg.New(t.spec)}
	if t.calls != nil {
		run.Tree = in.join(t.calls).tree
	}
	in.fails(t.Name, run.Group.Errors(), true)
	return run
}

func (t *Table) sink(int) flow.Sink { return t.Group }
func (t *Table) group() *agg.Group  { return t.Group }

func (t *TableOp) needs(_ *builder, n *need) {
	for _, a := range t.Spec.Aggs {
		if op := a.Agg.Op; op.Ordered {
			n.Add(event.MemberTime)
			n.Order(op.Name + " depends on the order of events")
		}
	}
}

// Shows says how the cells of the i-th column are shown; nil shows the value.
func (t *TableOp) Shows(i int) view.Show { return t.shows[i] }

// Names says how the values in cells of the i-th aggregator are shown. If a cell is a list, it is
// for each member.
func (t *TableOp) Names(i int) view.Show { return t.names[i] }

func (*TableOp) deliver(h Host) Delivery { return h.Tables() }

func (t *TableOp) ofOneMachine() (what, why string) {
	switch g := t.Spec; {
	case g.Tree:
		return t.Name, "a tree of calls is of one machine"
	case g.View.Whole != nil:
		return t.Name, "its slots of time are of one machine's clock"
	case g.View.File != "":
		return t.Name, "it goes to a file"
	}
	aggs := make([]agg.Agg, len(t.Spec.Aggs))
	for i := range t.Spec.Aggs {
		aggs[i] = t.Spec.Aggs[i].Agg
	}
	if err := agg.CheckPortable(aggs); err != nil {
		return t.Name, err.Error()
	}
	return "", ""
}

func (t *TableOp) inKernel() (graph.Work, string) {
	return graph.Work{Group: &t.spec}, ""
}

func (t *TableOp) mergeable() bool { return t.spec.Mergeable() && t.calls == nil }

func (t *Table) absorb(other Running) {
	o := other.(*Table)
	t.Group.Merge(o.Group)
	o.Group.Reset()
}

func (t *TableOp) explain(w *strings.Builder) {
	var keys, aggs []string
	for _, v := range t.Spec.By {
		keys = append(keys, v.Name)
	}
	for _, a := range t.Spec.Aggs {
		aggs = append(aggs, a.Name)
	}
	if len(keys) == 0 {
		keys = []string{"nothing"}
	}
	fmt.Fprintf(w, "result %-8s by %s: %s\n", t.Name, strings.Join(keys, ", "), strings.Join(aggs, ", "))
	for i := range t.spec.Aggs {
		if a := &t.spec.Aggs[i]; len(a.Linear) > 0 {
			fmt.Fprintf(w, "%-15s of %s: the %s of x is kept, an integer, and %s computed of it\n", "",
				aggs[i], a.Op.Name, a.Linear)
		}
	}
}

// instanceName is the name of a column of instances, and its title: in
// brackets, unless the script asks for CPU.
func instanceName(b *builder, as string) (name, title string) {
	name = "cpu"
	if b.env.ByThread {
		name = "thread"
	}
	title = strings.ToUpper(name)
	if as == "CPU" {
		return name, title
	}
	return name, "[" + title + "]"
}

// renamed is g, with one column renamed in its view.
func (g *Group) renamed(from, to string) *Group {
	c := *g
	c.View.Steps = slices.Clone(g.View.Steps)
	for i := range c.View.Steps {
		if c.View.Steps[i].Sort == from {
			c.View.Steps[i].Sort = to
		}
	}
	return &c
}

// identity is equal for aggregators with the same argument and condition.
func (c *AggCol) identity() string {
	s := strconv.Itoa(int(identityOf(c.Of)))
	for _, f := range []*Fn{c.Arg, c.Where, c.Rank} {
		switch {
		case f == nil:
			s += "|-"
		case f.Call != nil:
			s += "|call " + f.Call.Pos() + f.Call.Name()
		default:
			s += "|" + f.Text
		}
	}
	return s
}

// settle compiles the argument and the condition of an aggregator. shown is the argument as its cells show
// it, nil if there is none.
func (c *AggCol) settle(b *builder, brs []branch) (a agg.Agg, arg agg.Arg, shown *flow.Fn, err error) {
	a = c.Agg
	mine := brs
	if c.Of != nil {
		if mine, arg.Only, err = c.only(b, brs); err != nil {
			return a, arg, nil, err
		}
	}
	if c.Where != nil {
		fn, err := b.fn(*c.Where, mine, expr.Bool)
		if err != nil {
			return a, arg, nil, err
		}
		arg.Where = fn.Several(len(brs) > 1)
	}
	if c.Rank != nil {
		fn, err := b.fn(*c.Rank, mine, expr.Float)
		if err != nil {
			return a, arg, nil, err
		}
		arg.Rank = fn.Several(len(brs) > 1)
	}
	if c.Arg != nil {
		want := expr.Any
		if a.Op.Numeric {
			want = expr.Float
		}
		if shown, err = b.fn(*c.Arg, mine, want); err != nil {
			return a, arg, nil, err
		}
		a.Type = numbersOf(shown)
		shown.Several(len(brs) > 1)
		arg.Fn = shown
		if x, l := b.linearOf(shown, mine); l != nil && a.Op.Moves(l) {
			arg.Fn, a.Linear = x.Several(len(brs) > 1), l
		}
	}
	return a, arg, shown, nil
}

// linearOf splits a function into an integer argument and a linear function of it, which must
// be the same in all its programs. Both are nil if there is no such form.
func (b *builder) linearOf(fn *flow.Fn, mine []branch) (*flow.Fn, agg.Linear) {
	each := make([]*expr.Program, len(b.plan.streams))
	var same agg.Linear
	for _, br := range mine {
		x, l, ok := agg.SplitLinear(fn.At(br.stream).Node)
		if !ok || same != nil && !slices.Equal(l, same) {
			return nil, nil
		}
		same, each[br.stream] = l, expr.Build(x)
	}
	return flow.NewFn(each, sole(mine)), same
}

// only returns the branches whose events come from c.Of.
func (c *AggCol) only(b *builder, brs []branch) ([]branch, []bool, error) {
	of, err := b.branchesOf(c.Of)
	if err != nil {
		return nil, nil, err
	}
	flags := make([]bool, len(b.plan.streams))
	for _, br := range of {
		flags[br.stream] = true
	}
	var mine []branch
	for _, br := range brs {
		if flags[br.stream] {
			mine = append(mine, br)
		}
	}
	if len(mine) == 0 {
		return nil, nil, located(diag.Errorf(diag.Run, "agg", c.Name, "its stream is not part of the group").
			WithHint("give a stream that was merged into this one as of ="), c.Pos)
	}
	return mine, flags, nil
}

// State implements Running.
func (t *Table) State() []string { return []string{fmt.Sprintf("%s: %d rows", t.Name, t.Group.Len())} }

// numbersOf is the type of a function's numbers, as far as it is known before the run.
func numbersOf(fn *flow.Fn) event.Type {
	if p := fn.Any(); p.Node != nil {
		return expr.NumbersOf(p.Node)
	}
	return expr.TInt
}
