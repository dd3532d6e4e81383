package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/diag"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/flow"
	"ppscript/runtime/placement"
	"ppscript/runtime/sql"
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

// ResultName is what its results are called, but for the number.
func (d *Database) ResultName() string {
	if d.Query == "" {
		return "inserts"
	}
	return "query"
}

// Input implements Report.
func (d *Database) Input() Stream { return &Merge{In: d.In} }

// A DatabaseOp is the database of a plan.
type DatabaseOp struct {
	operator
	Spec   *Database
	Name   string
	tables []*EventTable
	at     []int // by stream: one more than the place of its table
}

// A DatabaseRun is a database that is filled. Session sets Rows of its tables
// before events flow.
type DatabaseRun struct {
	running
	*DatabaseOp
	Tables []*EventTable
	by     []*EventTable // by stream
	frame  expr.Frame
	errs   flow.Errors
}

// An EventTable is the rows of one kind of event.
type EventTable struct {
	sql.Table
	Schema *event.Schema
	// Rows takes the rows; Plain, if it is set, takes them once more, with
	// all columns.
	Rows, Plain *sql.Rows
	// Count, First and Last are of the rows since the last Reset; Total is
	// of all.
	Count, Total uint64
	First, Last  event.Time
	readers      []reader
}

// filled lists the columns that somebody reads.
func (t *EventTable) filled() string {
	var names []string
	for i := range t.Columns {
		if !t.Columns[i].Unused {
			names = append(names, t.Columns[i].Name)
		}
	}
	return strings.Join(names, ", ")
}

// Reset begins an interval.
func (t *EventTable) Reset() { t.Count, t.First, t.Last = 0, 0, 0 }

// A reader gets a cell out of an event: from a field, or by a program.
type reader struct {
	field *event.Field
	prog  *expr.Program
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
			if p := t.readers[i].prog; p != nil && !c.Unused {
				b.programs = append(b.programs, p)
			}
		}
	}
	if d.File == "" && !d.Verify && len(all) == 1 {
		if err := op.tables[0].early(b, &all[0], d.Query); err != nil {
			return err
		}
	}
	b.plan.add(op)
	b.feed(feed{op: op, name: op.Name}, all)
	return nil
}

func (d *DatabaseOp) instantiate(in *Instance) Running {
	run := &DatabaseRun{DatabaseOp: d, by: make([]*EventTable, len(d.at))}
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

// early has events that the query would leave out left out before they are rows:
// in the kernel, if its filter can do it. Who keeps a file wants all of them.
func (t *EventTable) early(b *builder, br *branch, query string) error {
	var terms []string
	for _, x := range sql.Terms(query, t.Name) {
		if text := t.condition(x); text != "" {
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
	br.preds = append(br.preds[:len(br.preds):len(br.preds)], &pred{text: text, prog: p})
	return nil
}

// condition is a term in C; "" if it may mean something else there: SQL has no
// numbers beyond 63 bits, and texts may hold what C escapes.
func (t *EventTable) condition(x sql.Term) string {
	for i := range t.Columns {
		f := t.readers[i].field
		if !strings.EqualFold(t.Columns[i].Name, x.Column) || f == nil || t.Columns[i].Name != f.Name {
			continue
		}
		switch c := t.Columns[i].Type; {
		case c == sql.Integer && !x.IsText && (f.Signed || f.Size < 8):
			return f.Name + " " + x.Op + " " + strconv.FormatInt(x.Int, 10)
		case c == sql.Text && x.IsText && x.Text != "" && strconv.Quote(x.Text) == `"`+x.Text+`"`:
			return f.Name + " " + x.Op + ` "` + x.Text + `"`
		}
		return ""
	}
	return ""
}

// table finds a table as SQL does, which knows no case.
func (d *DatabaseOp) table(name string) *EventTable {
	for _, t := range d.tables {
		if strings.EqualFold(t.Name, name) {
			return t
		}
	}
	return nil
}

// newEventTable makes the table of a branch. The names of what is not in the record
// begin with an underscore, as those of perf-prof do.
func newEventTable(b *builder, br *branch) *EventTable {
	st := b.plan.streams[br.stream]
	t := &EventTable{Schema: st.Schema}
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
		recorded = e.Source.Kind == Tracepoint
		if e.Stack != nil {
			t.About.Stack, t.About.MaxStack = true, e.Stack.Max
		}
		if index := e.Source.Attr("index"); len(index) > 0 {
			t.Index = index[0]
		}
	}
	members := []string{"_pid", "_tid", "_time", "_cpu", "_period"}
	if br.root == nil && !recorded {
		members = append(members, "_ip", "_addr")
	}
	for _, name := range members {
		f, _ := st.Schema.Field(strings.TrimPrefix(name, "_"))
		if own, ok := st.Schema.Field(name); ok {
			f = own
		}
		t.add(name, sql.Integer, reader{field: f})
	}
	if t.About.Stack {
		f, _ := st.Schema.Field(Stack)
		t.add("_"+Stack, sql.Integer, reader{field: f})
	}
	for i := range st.Schema.Fields {
		f := &st.Schema.Fields[i]
		if f.Name != "common_type" {
			t.add(f.Name, columnType(f), reader{field: f})
			t.About.Fields++
		}
	}
	for _, name := range sorted(br.scope.Vars) {
		if name == "event" || name == InstanceName {
			continue
		}
		p := expr.Build(br.scope.Vars[name])
		typ := map[expr.Kind]sql.Type{expr.Str: sql.Text, expr.Float: sql.Real}[p.Type.Kind]
		t.add(name, typ, reader{prog: p})
	}
	return t
}

// add adds a column. One of the same name, whatever its case, gets a _ more.
func (t *EventTable) add(name string, typ sql.Type, r reader) {
	for slices.ContainsFunc(t.Columns, func(c sql.Column) bool { return strings.EqualFold(c.Name, name) }) {
		name += "_"
	}
	t.Columns = append(t.Columns, sql.Column{Name: name, Type: typ})
	t.readers = append(t.readers, r)
}

func columnType(f *event.Field) sql.Type {
	switch f.Kind {
	case event.Int:
		return sql.Integer
	case event.Str:
		return sql.Text
	case event.Float:
		return sql.Real
	}
	return sql.Blob
}

// Events implements flow.Sink.
func (d *DatabaseRun) Events(evs []*event.Event) {
	for _, e := range evs {
		t := d.by[e.Stream.Index]
		if t.Count == 0 {
			t.First = e.Time
		}
		t.First, t.Last = min(t.First, e.Time), max(t.Last, e.Time)
		t.Count++
		t.Total++
		d.row(t, e, t.Rows, false)
		if t.Plain != nil {
			d.row(t, e, t.Plain, true)
		}
	}
}

// Lost implements flow.Sink: the session reports losses, once for all.
func (d *DatabaseRun) Lost(int32, uint64, event.Time) {}

func (d *DatabaseRun) row(t *EventTable, e *event.Event, rows *sql.Rows, all bool) {
	d.frame.Reset(e)
	for i := range t.readers {
		c := &t.Columns[i]
		if c.Unused && !all {
			continue
		}
		if p := t.readers[i].prog; p != nil {
			d.computed(p, rows)
			continue
		}
		f := t.readers[i].field
		switch c.Type {
		case sql.Text:
			rows.Text(f.Text(e))
		case sql.Blob:
			rows.Blob(f.Loc(e))
		case sql.Real:
			if v := f.Value(e); v.Numeric() {
				rows.Real(v.Float())
			} else {
				rows.Null()
			}
		default:
			if n, ok := f.Int(e); ok {
				rows.Int(n)
			} else {
				rows.Null()
			}
		}
	}
	rows.End()
}

// computed adds the cell of a name that .let(...) gave. One that cannot be
// computed is NULL, and counted.
func (d *DatabaseRun) computed(p *expr.Program, rows *sql.Rows) {
	var v event.Value
	switch {
	case p.Int != nil:
		v = event.IntOf(p.Int(&d.frame))
	default:
		v = p.Value(&d.frame)
	}
	switch {
	case d.frame.Err != nil:
		d.errs.Note(&d.frame)
		rows.Null()
	case v.Kind == event.FloatValue:
		rows.Real(v.Float())
	case v.Numeric():
		rows.Int(v.Int())
	case v.Kind == event.None:
		rows.Null()
	default:
		rows.Text([]byte(v.String()))
	}
}

// namesThreads reports that a query asks for names of threads.
func (d *Database) namesThreads() bool { return strings.Contains(strings.ToLower(d.Query), "comm(") }

// needs adds what the columns that are filled need of the sources.
func (d *DatabaseOp) needs(b *builder, n *need) {
	b.plan.Comm = b.plan.Comm || d.Spec.namesThreads()
	for _, t := range d.tables {
		n.add(event.MemberTime) // of the first and last row
		for i, r := range t.readers {
			if t.Columns[i].Unused && !d.Spec.Verify || r.field == nil {
				continue
			}
			n.field(r.field)
			switch r.field.Place {
			case event.InRaw, event.DataLoc, event.RelLoc:
				n.raw = true
			}
		}
	}
}

func (*DatabaseOp) inKernel() (placement.Work, string) {
	return placement.Work{}, "a database has every event"
}

func (*DatabaseOp) notSent() string {
	return "the columns of a database are read from whole records"
}

func (d *DatabaseOp) explain(w *strings.Builder) {
	for _, t := range d.tables {
		fmt.Fprintf(w, "result %-8s table %s: %s\n", d.Name, t.Name, t.filled())
	}
}
