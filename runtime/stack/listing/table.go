package listing

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/stack/symbol"
	"ppscript/runtime/text/unit"
)

// A Listing is the code of a function with its samples.
type Listing struct {
	of *function
	// code without Bytes only has the addresses of samples.
	code    symbol.Code
	sources Sources
	context int            // Wanted.Context
	all     *result.Stacks // all counted stacks
	rows    []row
}

// A row is an instruction or a source line.
type row struct {
	weight
	addr uint64
	text string // the instruction
	file string
	line int
}

// title is the title of the table: the function and the weight of its samples.
func (l *Listing) title() string {
	count, value := l.all.Total()
	text := fmt.Sprintf("%s: %d of %d samples", l.of.label(), l.of.Count, count)
	if l.all.Value != "" && value > 0 {
		text += fmt.Sprintf(", %.1f %% of %s", 100*float64(l.of.Value)/float64(value), l.all.Value)
	}
	return text
}

// instructions makes a table of the function's instructions, in order.
func (l *Listing) instructions(m result.Meta) *result.Table {
	l.disassemble()
	t := l.table(m, result.Column{Name: "address", Hex: true, Kind: result.KeyColumn},
		result.Column{Name: "code", Left: true})
	kept := l.around()
	lines := map[uint64]string{}
	file, line, gap := "", 0, false
	for i := range l.rows {
		r := &l.rows[i]
		if !kept[i] {
			gap = true
			continue
		}
		text := ""
		if gap && len(t.Rows) > 0 {
			text = indent + "...\n"
		}
		gap = false
		if r.file != "" && (r.file != file || r.line != line) {
			text += strings.TrimRight(indent+r.place()+"  "+l.source(r), " ") + "\n"
		}
		file, line = r.file, r.line
		lines[r.addr] = text + l.numbers(r) + fmt.Sprintf("  %12x  %s", r.addr, r.text)
		t.Rows = append(t.Rows, append(l.cells(r), event.UintOf(r.addr), event.StrOf(r.text),
			placeOf(r), event.StrOf(l.source(r))))
	}
	at := l.weights()
	t.Layout.RowText = func(cells []event.Value) string { return lines[cells[at].Uint()] }
	t.Layout.HeaderText = fmt.Sprintf("%8s %9s%s  %12s  code", "share", "samples", l.valueHead(), "address")
	t.Columns = append(t.Columns, lineColumns()...)
	t.Omitted = len(l.rows) - len(t.Rows)
	return t
}

// indent is the indentation of source lines in text, after the numbers.
const indent = "                    "

// byLine makes a table of the function's source lines, by file and number.
func (l *Listing) byLine(m result.Meta) *result.Table {
	l.disassemble()
	type key struct {
		file string
		line int
	}
	by := map[key]*row{}
	var list []*row
	for i := range l.rows {
		r := &l.rows[i]
		k := key{r.file, r.line}
		x := by[k]
		if x == nil {
			x = &row{file: r.file, line: r.line}
			by[k] = x
			list = append(list, x)
		}
		x.Count += r.Count
		x.Value += r.Value
	}
	slices.SortFunc(list, func(a, b *row) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	l.rows = l.rows[:0]
	for _, x := range list {
		l.rows = append(l.rows, *x)
	}
	t := l.table(m)
	t.Columns = append(t.Columns, lineColumns()...)
	kept := l.around()
	for i := range l.rows {
		if r := &l.rows[i]; kept[i] {
			t.Rows = append(t.Rows, append(l.cells(r), placeOf(r), event.StrOf(l.source(r))))
		}
	}
	t.Omitted = len(l.rows) - len(t.Rows)
	return t
}

// disassemble makes a row of each instruction.
func (l *Listing) disassemble() {
	l.rows = nil
	if len(l.code.Bytes) == 0 {
		for at := range l.of.at {
			l.rows = append(l.rows, row{addr: at})
		}
		slices.SortFunc(l.rows, func(a, b row) int { return cmp.Compare(a.addr, b.addr) })
	}
	for _, in := range disassemble(&l.code) {
		r := row{addr: in.addr, text: in.text}
		r.file, r.line = l.code.Line(in.addr)
		l.rows = append(l.rows, r)
	}
	for at, w := range l.of.at {
		// A sample inside an instruction, which happens if code is damaged, counts for that
		// instruction.
		i, exact := slices.BinarySearchFunc(l.rows, at,
			func(r row, at uint64) int { return cmp.Compare(r.addr, at) })
		if !exact {
			i = max(i-1, 0)
		}
		l.rows[i].Count += w.Count
		l.rows[i].Value += w.Value
	}
}

// around returns the rows to show: rows with samples and their context.
func (l *Listing) around() []bool {
	kept := make([]bool, len(l.rows))
	for i := range l.rows {
		if l.context < 0 {
			kept[i] = true
		} else if l.rows[i].Count > 0 {
			for k := max(0, i-l.context); k <= min(len(kept)-1, i+l.context); k++ {
				kept[k] = true
			}
		}
	}
	return kept
}

// table makes a table with the columns of weights, and the columns more.
func (l *Listing) table(m result.Meta, more ...result.Column) *result.Table {
	m.Title = l.title()
	t := &result.Table{Meta: m, Columns: []result.Column{
		{Name: "share", Unit: unit.Percent, Prec: result.UnitPrec}, {Name: "samples", Merging: result.Added},
	}}
	if l.all.Value != "" {
		t.Columns = append(t.Columns, result.Column{Name: l.all.Value, Unit: l.all.Unit,
			Prec: result.UnitPrec, Merging: result.Added})
	}
	t.Columns = append(t.Columns, more...)
	return t
}

// weights returns the number of columns of weights.
func (l *Listing) weights() int {
	if l.all.Value != "" {
		return 3
	}
	return 2
}

// cells returns the cells of the columns of weights.
func (l *Listing) cells(r *row) []event.Value {
	cells := []event.Value{event.FloatOf(l.share(r)), event.UintOf(r.Count)}
	if l.all.Value != "" {
		cells = append(cells, event.IntOf(r.Value))
	}
	return cells
}

// share is the share of a row in the function's weight, in percent.
func (l *Listing) share(r *row) float64 {
	switch {
	case l.all.Value != "" && l.of.Value > 0:
		return 100 * float64(r.Value) / float64(l.of.Value)
	case l.all.Value == "" && l.of.Count > 0:
		return 100 * float64(r.Count) / float64(l.of.Count)
	}
	return 0
}

// numbers returns the weights of a row as text; empty for a row without
// samples.
func (l *Listing) numbers(r *row) string {
	share, count, value := "", "", ""
	if r.Count > 0 {
		share, count = fmt.Sprintf("%.2f%%", l.share(r)), fmt.Sprint(r.Count)
		value = l.all.Unit.Format(float64(r.Value))
	}
	text := fmt.Sprintf("%8s %9s", share, count)
	if l.all.Value != "" {
		text += fmt.Sprintf(" %14s", value)
	}
	return text
}

// valueHead is the title of the column of values.
func (l *Listing) valueHead() string {
	if l.all.Value == "" {
		return ""
	}
	c := result.Column{Name: l.all.Value, Unit: l.all.Unit}
	return fmt.Sprintf(" %14s", c.Title())
}

func lineColumns() []result.Column {
	return []result.Column{
		{Name: "line", Left: true, Kind: result.KeyColumn}, {Name: "source", Left: true},
	}
}

// placeOf is the source file and line of a row; empty if unknown.
func placeOf(r *row) event.Value {
	if r.file == "" {
		return event.Value{}
	}
	return event.StrOf(fmt.Sprintf("%s:%d", r.file, r.line))
}

// place is placeOf as a text for the table.
func (r *row) place() string { return fmt.Sprintf("%s:%d", path.Base(r.file), r.line) }

// source is the source text of a row's line.
func (l *Listing) source(r *row) string {
	if r.file == "" {
		return ""
	}
	return l.sources.Line(r.file, r.line)
}
