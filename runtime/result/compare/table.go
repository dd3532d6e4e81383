package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/result/chance"
	"ppscript/runtime/text/unit"
)

// This file makes the text of a report: lines before the table, the table, and
// lines after it.

// TableOptions are options of a report's table.
type TableOptions struct {
	Most int  // rows at most
	All  bool // also cells that do not differ
	Per  Per  // as in the comparison
}

// kinds returns a text for n units, such as "20 intervals".
func (r *Report) kinds(n int) string {
	switch {
	case r.Sources && n == 1:
		return "1 host or file"
	case r.Sources:
		return fmt.Sprintf("%d hosts or files", n)
	case n == 1:
		return "1 interval"
	}
	return fmt.Sprintf("%d intervals", n)
}

// Head returns the lines before the table: the two runs and the verdict.
func (r *Report) Head() string {
	var b strings.Builder
	for i, label := range []string{"before", "after"} {
		run := &r.Runs[i]
		fmt.Fprintf(&b, "%-7s %s: %s in %s", label+":", run.Name,
			unit.Duration(int64(run.Seconds*unit.S.Scale)), r.kinds(r.Units[i]))
		if run.Missing > 0 {
			fmt.Fprintf(&b, ", %d events are missing", run.Missing)
		}
		b.WriteByte('\n')
	}
	b.WriteString(r.Verdict() + "\n")
	return b.String()
}

// Verdict returns the result of the comparison as one sentence.
func (r *Report) Verdict() string {
	if len(r.Changes) == 0 {
		return "nothing to compare: the runs have no numbers in common"
	}
	if !r.Enough() {
		return fmt.Sprintf("cannot be judged: %s and %s, want at least %d; the changes could be noise",
			r.kinds(r.Units[0]), r.kinds(r.Units[1]), chance.Least)
	}
	how := fmt.Sprintf("at %g %% for all of them together", 100*chance.Level)
	switch {
	case r.Compared == 0:
		return "cannot be judged: nothing has numbers in enough of the intervals"
	case r.Differ == 0:
		return fmt.Sprintf("no difference: %d numbers compared, none changed by more than noise (%s)",
			r.Compared, how)
	}
	return fmt.Sprintf("%d of %d numbers differ by more than noise (%s)", r.Differ, r.Compared, how)
}

// Table makes a table of the changes, the largest contributions first; nil if there is
// none to show.
func (r *Report) Table(shown TableOptions) *result.Table {
	list := r.Changes
	switch {
	case shown.All:
	case r.Enough():
		list = list[:r.Differ]
	default:
		list = slices.DeleteFunc(slices.Clone(list), func(c Change) bool { return c.Contribution == 0 })
	}
	if len(list) == 0 {
		return nil
	}
	text := func(name string) result.Column {
		return result.Column{Name: name, Kind: result.KeyColumn, Left: true}
	}
	number := func(name string) result.Column { return result.Column{Name: name, Prec: 6} }
	percent := func(name string) result.Column {
		return result.Column{Name: name, Unit: unit.Percent, Prec: 2}
	}
	t := &result.Table{Columns: []result.Column{text("result"), text("row"), text("column"), text("unit"),
		number("before"), number("after"), percent("change"), percent("contribution"), percent("low"),
		percent("high"), number("p"), number("differs")}}
	t.Name = "diff"
	t.Columns[3].Kind = result.ValueColumn
	for i := range list {
		c := &list[i]
		t.Rows = append(t.Rows, []event.Value{event.StrOf(c.Result), event.StrOf(c.Row),
			event.StrOf(c.Column), event.StrOf(c.unit(shown.Per == PerRun)), finite(c.Before, 1),
			finite(c.After, 1), finite(c.Relative, 100), finite(c.Contribution, 100), finite(c.Low, 100),
			finite(c.High, 100), finite(c.P, 1), event.BoolOf(c.Differs)})
	}
	t.Layout.NoDate = true
	lines := r.lines(list, shown.Per == PerRun)
	t.Layout.HeaderText = lines[0]
	at := map[*event.Value]string{}
	for i, row := range t.Rows {
		at[&row[0]] = lines[i+1]
	}
	t.Layout.RowText = func(row []event.Value) string { return at[&row[0]] }
	t.Top(shown.Most)
	return t
}

// finite returns a scaled number as a cell, which is empty for NaN and
// infinity.
func finite(v, scale float64) event.Value {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return event.Value{}
	}
	return event.FloatOf(v * scale)
}

// unit returns the unit of Before and After, for programs.
func (c *Change) unit(perRun bool) string {
	switch {
	case c.How == Share:
		return ""
	case c.How == Level || perRun:
		return c.Unit
	}
	return c.Unit + "/s"
}

// number formats Before or After for people.
func (c *Change) number(v float64, perRun bool) string {
	if c.How == Share {
		return strconv.FormatFloat(100*v, 'f', 2, 64) + " %"
	}
	per := "/s"
	if c.How == Level || perRun {
		per = ""
	}
	switch c.Unit {
	case "ns":
		return unit.Duration(int64(math.Round(v))) + per
	case "B":
		return unit.Size(int64(math.Round(v))) + per
	case "":
		return figure(v) + per
	}
	return figure(v) + " " + c.Unit + per
}

// figure formats a number with four digits, or more if the integer part has
// more; numbers below 0.1 have two.
func figure(v float64) string {
	abs := math.Abs(v)
	prec := 3
	switch {
	case abs >= 1000 || v == math.Trunc(v):
		prec = 0
	case abs >= 100:
		prec = 1
	case abs >= 10:
		prec = 2
	case abs < 0.1:
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', prec, 64)
}

// percent formats a share with its sign.
func percent(v float64) string {
	prec := 1
	if abs := math.Abs(v); abs < 0.01 {
		prec = 2
	} else if abs >= 10 {
		prec = 0
	}
	return fmt.Sprintf("%+.*f %%", prec, 100*v)
}

// change formats the relative change of a cell: "new", "gone" or "-" if it has
// no finite one.
func (c *Change) change() string {
	switch {
	case c.How != Level && c.Before == 0 && c.After > 0:
		return "new"
	case c.How != Level && c.Before > 0 && c.After == 0:
		return "gone"
	case math.IsInf(c.Relative, 0):
		return "-"
	}
	return percent(c.Relative)
}

// lines returns the header and the lines of changes as text.
func (r *Report) lines(list []Change, perRun bool) []string {
	several := slices.ContainsFunc(list, func(c Change) bool { return c.Result != list[0].Result })
	cells := [][]string{{"what", "before", "after", "change", "of all", "change in 95 of 100", "p"}}
	for i := range list {
		c := &list[i]
		name := c.Row
		name = strings.TrimSpace(name + " " + c.Column)
		if several {
			name = c.Result + ": " + name
		}
		between, p := "", ""
		if !math.IsNaN(c.Low) && !math.IsNaN(c.High) {
			between = percent(c.Low) + " to " + percent(c.High)
		}
		if !math.IsNaN(c.P) {
			if p = strconv.FormatFloat(c.P, 'g', 2, 64); c.P < 1e-6 {
				p = "<1e-6"
			}
			if !c.Differs {
				p += " (noise)"
			}
		}
		cells = append(cells, []string{name, c.number(c.Before, perRun), c.number(c.After, perRun),
			c.change(), percent(c.Contribution), between, p})
	}
	widths := make([]int, len(cells[0]))
	for _, row := range cells {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	out := make([]string, len(cells))
	for i, row := range cells {
		var b strings.Builder
		for j, cell := range row {
			pad := strings.Repeat(" ", widths[j]-len([]rune(cell)))
			if j == 0 {
				b.WriteString(cell + pad)
			} else {
				b.WriteString("  " + pad + cell)
			}
		}
		out[i] = strings.TrimRight(b.String(), " ")
	}
	return out
}

// Foot returns the lines after the table: the sums of columns, and how many numbers
// could not be judged.
func (r *Report) Foot(shown TableOptions) string {
	var b strings.Builder
	for i := range r.Wholes {
		w := &r.Wholes[i]
		perRun := shown.Per == PerRun
		fmt.Fprintf(&b, "all %s of %s: %s, then %s (%s)\n", w.Column, w.Result, w.number(w.Before, perRun),
			w.number(w.After, perRun), w.change())
	}
	const another = 0.1
	if shown.Per == PerSecond && slices.ContainsFunc(r.Wholes, func(w Change) bool {
		return math.Abs(w.Relative) > another
	}) {
		b.WriteString("the load of the two runs differs: --per share compares the rows' shares of it\n")
	}
	if r.Enough() && r.Unjudged > 0 {
		fmt.Fprintf(&b, "%d numbers were in too few intervals to judge\n", r.Unjudged)
	}
	return b.String()
}
