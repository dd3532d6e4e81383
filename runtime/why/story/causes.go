package story

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/plain"
	"ppscript/runtime/text/unit"
)

// Compared reports whether there are normal spans to compare the slow ones
// with.
func Compared(w *result.Why) bool { return w.Slow.Spans > 0 && w.Normal.Spans > 0 }

// Over returns the time of a slow span that a cause explains, in ns: its mean in all slow spans
// minus its mean in the normal ones, if there are any.
func Over(w *result.Why, c *result.WhyCause) float64 {
	return mean(c.Slow.NS, w.Slow.Spans) - mean(c.Normal.NS, w.Normal.Spans)
}

// mean divides by the number of all spans, including the spans without the cause, so that the
// means of causes add up to the mean of the spans.
func mean(ns int64, spans uint64) float64 {
	if spans == 0 {
		return 0
	}
	return float64(ns) / float64(spans)
}

// grown returns the sum of Over of all causes. Causes with less time in slow spans than in normal
// ones count as 0.
func grown(w *result.Why) float64 {
	sum := 0.0
	for i := range w.Causes {
		sum += max(0, Over(w, &w.Causes[i]))
	}
	return sum
}

func share(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole * 100
}

// Sorted returns the causes, the ones with the largest Over first.
func Sorted(w *result.Why) []result.WhyCause {
	list := slices.Clone(w.Causes)
	slices.SortStableFunc(list, func(a, b result.WhyCause) int {
		return cmp.Or(cmp.Compare(Over(w, &b), Over(w, &a)), cmp.Compare(Path(a.Path), Path(b.Path)))
	})
	return list
}

// people merges causes that differ only in the name of the span's thread. The numbers of spans
// stay exact, since a span has one thread.
func people(w *result.Why) *result.Why {
	own := *w
	own.Causes = nil
	at := map[string]int{}
	for _, c := range w.Causes {
		c.Path = slices.Clone(c.Path)
		c.Path[0].Task = result.WhyTask{}
		text := Path(c.Path)
		i, known := at[text]
		if !known {
			at[text] = len(own.Causes)
			own.Causes = append(own.Causes, c)
			continue
		}
		to := &own.Causes[i]
		to.Slow.Spans, to.Slow.NS = to.Slow.Spans+c.Slow.Spans, to.Slow.NS+c.Slow.NS
		to.Normal.Spans, to.Normal.NS = to.Normal.Spans+c.Normal.Spans, to.Normal.NS+c.Normal.NS
	}
	return &own
}

// Unit returns a readable unit for times of spans with this length.
func Unit(ns float64) unit.Unit {
	switch {
	case ns >= 10e9:
		return unit.S
	case ns >= 10e6:
		return unit.MS
	}
	return unit.US
}

// The indexes of columns in the table of causes.
const (
	shareColumn = iota
	totalColumn
	spansColumn
	slowColumn
	normalColumn
	overColumn
	causeColumn
)

// Causes makes a table of all causes: the share of the slow spans' time, the total, the number
// of slow spans with the cause, and its mean in a slow span. If there are normal spans, it also
// has the mean in a normal span, and the share of the difference between slow and normal spans.
//
// Text output has the cause last, wrapped at width cells; 0 does not wrap.
func Causes(w *result.Why, u unit.Unit, width int) *result.Table {
	t := &result.Table{Meta: Meta(w)}
	column := func(name string, u unit.Unit, merging result.Merging) result.Column {
		return result.Column{Name: name, Unit: u, Prec: result.UnitPrec, Merging: merging}
	}
	percent := column("share", unit.Percent, result.NotMerged)
	percent.Prec = 1
	over := percent
	over.Name = "over"
	t.Columns = []result.Column{
		percent, column("total", u, result.Added), column("spans", unit.Number, result.Added),
		column("slow", u, result.NotMerged), column("normal", u, result.NotMerged), over,
		{Name: "cause", Kind: result.KeyColumn, Left: true},
	}
	w = people(w)
	grown, compared := grown(w), Compared(w)
	for _, c := range Sorted(w) {
		row := []event.Value{
			event.FloatOf(share(float64(c.Slow.NS), float64(w.Slow.NS))),
			event.DurationOf(c.Slow.NS), event.UintOf(c.Slow.Spans),
			event.DurationOf(int64(math.Round(mean(c.Slow.NS, w.Slow.Spans)))),
			event.DurationOf(int64(math.Round(mean(c.Normal.NS, w.Normal.Spans)))),
			event.FloatOf(share(max(0, Over(w, &c)), grown)),
			event.StrOf(Path(c.Path)),
		}
		t.Rows = append(t.Rows, row)
	}
	if !compared {
		for i := range t.Rows {
			t.Rows[i] = slices.Delete(t.Rows[i], normalColumn, causeColumn)
		}
		t.Columns = slices.Delete(t.Columns, normalColumn, causeColumn)
	}
	if width > 0 {
		t.Layout.HeaderText = causeHeader(u, compared)
		t.Layout.RowText = func(row []event.Value) string { return causeLine(row, u, width, compared) }
	}
	return t
}

// Meta returns the Meta of the result, with the numbers and means of spans in the
// title.
func Meta(w *result.Why) result.Meta {
	m := w.Meta
	m.Name = cmp.Or(m.Name, w.Name)
	if m.Title != "" {
		m.Title += ": "
	}
	m.Title += count(w.Slow.Spans, "slow span")
	if w.Slow.Spans > 0 {
		m.Title += " (mean " + unit.Duration(int64(mean(w.Slow.NS, w.Slow.Spans))) + ")"
	}
	if w.Normal.Spans > 0 {
		m.Title += fmt.Sprintf(", %d normal (%s)", w.Normal.Spans,
			unit.Duration(int64(mean(w.Normal.NS, w.Normal.Spans))))
	}
	return m
}

func count(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Bounds for Short: at most mostCauses causes are shown, and after the first fewCauses only causes
// with at least little percent.
const (
	mostCauses = 25
	fewCauses  = 10
	little     = 0.5
)

// Short replaces the least important causes, except unknown ones, by one row with their sum.
func Short(t *result.Table) {
	last := len(t.Columns) - 1
	over := min(overColumn, last) // without normal spans, the cause, which is no number
	n := len(t.Rows)
	for i := min(fewCauses, n); i < n; i++ {
		row := t.Rows[i]
		if row[shareColumn].Float() < little && (!row[over].Numeric() || row[over].Float() < little) {
			n = i
		}
	}
	if n = min(n, mostCauses); n == len(t.Rows) {
		return
	}
	rest := t.Rows[n:]
	kept := t.Rows[:n:n]
	folded, sum := 0, make([]event.Value, len(t.Columns))
	for _, row := range rest {
		if strings.Contains(row[last].String(), result.WhyUnknown.String()) {
			kept = append(kept, row)
			continue
		}
		folded++
		for i := range last {
			switch {
			case row[i].Kind == event.DurationValue:
				sum[i] = event.DurationOf(sum[i].Int() + row[i].Int())
			case row[i].Kind == event.FloatValue:
				sum[i] = event.FloatOf(sum[i].Float() + row[i].Float())
			}
		}
	}
	if folded > 0 {
		sum[last] = event.StrOf(count(uint64(folded), "other cause"))
		kept = append(kept, sum)
	}
	t.Rows = kept
}

func causeHeader(u unit.Unit, compared bool) string {
	head := fmt.Sprintf("%6s %10s %5s %9s", "share", "total("+u.Symbol+")", "spans", "slow("+u.Symbol+")")
	if compared {
		head += fmt.Sprintf(" %10s %6s", "normal("+u.Symbol+")", "over")
	}
	return head + "  cause\n" + strings.Repeat("-", len(head)) + "  " + strings.Repeat("-", leastCells)
}

// causeLine formats a row of the table; a long cause continues on further
// lines.
func causeLine(row []event.Value, u unit.Unit, width int, compared bool) string {
	at := func(i int) string { return u.Format(row[i].Float()) }
	spans := "-" // the number of spans with any of several causes is unknown
	if n := row[spansColumn]; n.Numeric() {
		spans = n.String()
	}
	line := fmt.Sprintf("%5.1f%% %10s %5s %9s", row[shareColumn].Float(), at(totalColumn), spans,
		at(slowColumn))
	if compared {
		line += fmt.Sprintf(" %10s %5.1f%%", at(normalColumn), row[overColumn].Float())
	}
	line += "  "
	cause := string(plain.Append(nil, row[len(row)-1].String()))
	return line + strings.Join(wrap(cause, width-len(line)), "\n"+strings.Repeat(" ", len(line)))
}

// leastCells is the smallest width at which text is wrapped, so that names are
// not split.
const leastCells = 24

// wrap splits a text into lines, if possible before the links of a path.
func wrap(text string, width int) (lines []string) {
	width = max(width, leastCells)
	line := ""
	for i, link := range strings.Split(text, between) {
		if i > 0 {
			link = strings.TrimPrefix(between, " ") + link
			if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(link) <= width {
				line += " " + link
				continue
			}
			lines = append(lines, line)
			line = ""
			link = "  " + link
		}
		line = link
		for utf8.RuneCountInString(line) > width {
			first, rest, ok := breakLine(line, width)
			if !ok {
				break
			}
			lines = append(lines, first)
			line = "  " + rest
		}
	}
	return append(lines, line)
}

// breakLine splits a line at the last blank within the width, else at the first blank after
// it.
func breakLine(line string, width int) (first, rest string, ok bool) {
	indent := len(line) - len(strings.TrimLeft(line, " "))
	at, cells := -1, 0
	for i, r := range line {
		if cells++; r != ' ' || i <= indent {
			continue
		}
		if cells > width+1 && at > 0 {
			break
		}
		at = i
		if cells > width {
			break
		}
	}
	if at < 0 {
		return line, "", false
	}
	return line[:at], line[at+1:], true
}
