package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/sql"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/text/diag"
)

// A Database keeps events as rows of SQL tables, one for each kind of event,
// and asks a query of them at each report.
type Database struct {
	In    []Stream
	Query string // "" asks nothing: the file is what is wanted
	File  string // "" is a database in memory
	// Verify puts the rows into a second database too, one by one and with
	// all columns, and compares the answers.
	Verify bool
}

// ResultName implements Named.
func (d *Database) ResultName() string {
	if d.Query == "" {
		return "inserts"
	}
	return "query"
}

// Shape implements Shaped.
func (*Database) Shape() string { return "query" }

// Input implements Report.
func (d *Database) Input() Stream { return &Merge{In: d.In} }

// A DatabaseOp is the operator that Build makes of a Database.
type DatabaseOp struct {
	operator
	Spec   *Database
	Name   string
	tables []*sql.EventTable
	at     []int // by stream: one more than the place of its table
	// recorded says that some table has events with raw records, not only
	// derived events.
	recorded bool
}

// A DatabaseRun is a DatabaseOp that runs. Session sets Rows of its tables
// before events flow.
type DatabaseRun struct {
	running
	*DatabaseOp
	Tables []*sql.EventTable
	by     []*sql.EventTable // by stream
	frame  expr.Frame
	errs   flow.Errors
}

func (d *Database) build(b *builder) error {
	op := &DatabaseOp{Spec: d, Name: b.names.next(d.ResultName())}
	var all []branch
	for _, in := range d.In {
		brs, err := b.existing("sql", in)
		if err != nil {
			return err
		}
		all = append(all, brs...)
	}
	all, err := b.distinct(all)
	if err != nil {
		return err
	}
	op.at = make([]int, len(b.plan.streams))
	schemas := map[string]*event.Schema{}
	for i := range all {
		op.recorded = op.recorded || all[i].root == nil
		t := newEventTable(b, &all[i])
		if other := op.table(t.Name); other != nil {
			return diag.Errorf(diag.Usage, "sql", t.Name, "two events have a table of this name: %s and %s",
				other.Schema.FullName(), t.Schema.FullName()).
				WithHint("give one of them another name: -e '%s//alias=%s2/'", t.Schema.FullName(), t.Name)
		}
		if t.Index != "" && !slices.Contains(t.Names(), t.Index) {
			return diag.Errorf(diag.Usage, "index", t.Index, "table %s has no such column%s", t.Name,
				diag.DidYouMean(t.Index, t.Names())).
				WithHint("its columns are %s", strings.Join(t.Names(), ", "))
		}
		op.tables = append(op.tables, t)
		op.at[all[i].stream] = len(op.tables)
		schemas[t.Name] = t.Schema
	}
	if d.Query != "" {
		if err := sql.Mistake(d.Query, op.tables); err != nil {
			return err
		}
		used := make([]*sql.Table, len(op.tables))
		for i, t := range op.tables {
			used[i] = &t.Table
		}
		if err := sql.Check(used, d.Query, sql.Functions{Schemas: schemas}); err != nil {
			return err
		}
	}
	for _, t := range op.tables {
		for i := range t.Columns {
			c := &t.Columns[i]
			c.Unused = c.Unused && d.File == "" && c.Name != t.Index
			if p := t.Program(i); p != nil && !c.Unused {
				b.programs = append(b.programs, p)
			}
		}
	}
	if d.File == "" && !d.Verify && len(all) == 1 {
		if err := early(b, op.tables[0], &all[0], d.Query); err != nil {
			return err
		}
	}
	b.plan.add(op)
	b.feed(feed{op: op, name: op.Name}, all)
	return nil
}

func (d *DatabaseOp) instantiate(in *Instance) Running {
	run := &DatabaseRun{DatabaseOp: d, by: make([]*sql.EventTable, len(d.at))}
	for _, t := range d.tables {
		own := *t
		run.Tables = append(run.Tables, &own)
	}
	for stream, at := range d.at {
		if at > 0 {
			run.by[stream] = run.Tables[at-1]
		}
	}
	in.fails(d.Name, &run.errs, false)
	return run
}

func (d *DatabaseRun) sink(int) flow.Sink { return d }

// early moves conditions of the query in front of the table, into the kernel's
// filter if it can express them. It does nothing if the file is kept, which gets
// all events.
func early(b *builder, t *sql.EventTable, br *branch, query string) error {
	var terms []string
	for _, x := range sql.Terms(query, t.Name) {
		if text := t.Condition(x); text != "" {
			terms = append(terms, text)
		}
	}
	if len(terms) == 0 {
		return nil
	}
	text := strings.Join(terms, " && ")
	p, err := b.compile(Fn{Text: text}, br, expr.Bool)
	if err != nil {
		return err
	}
	br.preds = append(br.preds[:len(br.preds):len(br.preds)], &graph.Pred{Text: text, Prog: p})
	return nil
}

// table finds a table by name without regard to case, as SQL does.
func (d *DatabaseOp) table(name string) *sql.EventTable {
	for _, t := range d.tables {
		if strings.EqualFold(t.Name, name) {
			return t
		}
	}
	return nil
}

// newEventTable makes the table of a branch.
func newEventTable(b *builder, br *branch) *sql.EventTable {
	st := b.plan.streams[br.stream]
	t := &sql.EventTable{Schema: st.Schema}
	t.Name, t.Time = st.Schema.Name, "_time"
	t.About = sql.About{
		System:    st.Schema.System,
		Event:     st.Schema.Name,
		ID:        st.Schema.ID,
		Functions: sql.Calls(st.Schema),
	}
	recorded := false // it has a record of its own
	if e := b.events[br.stream]; br.root == nil && e != nil {
		t.Name = cmp.Or(e.Source.Alias, t.Name)
		t.About.Filter = e.Source.Filter
		recorded = e.Source.Kind == eventspec.Tracepoint
		if e.Stack != nil {
			t.About.Stack, t.About.MaxStack = true, e.Stack.Max
		}
		if index := e.Source.Attr("index"); len(index) > 0 {
			t.Index = index[0]
		}
	}
	t.Fill(!recorded && br.root == nil, br.scope.Vars, eventName, "_"+eventName, InstanceName)
	for i := range t.Columns {
		c, prog := &t.Columns[i], t.Program(i)
		var node expr.Node
		if f := t.Field(i); f != nil {
			node = expr.NewField(f, expr.Self)
			typ, _ := f.ValueType()
			c.Unsigned = typ.Unsigned
		} else {
			node, c.Unsigned = b.prints.NodeOf(prog), prog.Type.Unsigned
		}
		// Other numbers with names, such as states, stay the numbers that queries compare them with.
		if f := expr.FieldOf(node); expr.IsAddress(node) || f != nil && (f.Errno || c.Unsigned) {
			c.Names = b.prints.By(node)
		}
	}
	return t
}

// Events implements flow.Sink.
func (d *DatabaseRun) Events(evs []*event.Event) {
	for _, e := range evs {
		d.by[e.Stream.Index].Add(e, &d.frame, &d.errs)
	}
}

// Lost implements flow.Sink: the session reports losses, once for all.
func (d *DatabaseRun) Lost(int32, uint64, event.Time) {}

// namesThreads reports that a query asks for names of threads.
func (d *Database) namesThreads() bool { return strings.Contains(strings.ToLower(d.Query), "comm(") }

// needs adds the sample members that the filled columns are read from.
func (d *DatabaseOp) needs(b *builder, n *need) {
	b.plan.Comm = b.plan.Comm || d.Spec.namesThreads()
	for _, t := range d.tables {
		n.Add(event.MemberTime) // of the first and last row
		for i := range t.Columns {
			f := t.Field(i)
			if t.Columns[i].Unused && !d.Spec.Verify || f == nil {
				continue
			}
			n.Field(f)
			switch f.Place {
			case event.InRaw, event.DataLoc, event.RelLoc:
				n.Raw = true
			}
		}
	}
}

func (*DatabaseOp) deliver(h Host) Delivery { return h.Databases() }

func (op *DatabaseOp) ofOneMachine() (what, why string) {
	return op.Name, "a database is of one machine"
}

func (*DatabaseOp) inKernel() (graph.Work, string) {
	return graph.Work{}, "a database has every event"
}

func (d *DatabaseOp) notSent() string {
	if !d.recorded {
		return "" // pairs, and what folds emit, have their fields beside records
	}
	return "the columns of a database are read from whole records"
}

func (d *DatabaseOp) explain(w *strings.Builder) {
	for _, t := range d.tables {
		fmt.Fprintf(w, "result %-8s table %s: %s\n", d.Name, t.Name, t.Filled())
	}
}
