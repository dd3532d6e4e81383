package engines

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// This file compares what two engines printed as JSON.

// How far times may be from each other: perEvent for the time between the two
// readings of the clock, once for a rare interruption between them, and a share of
// the time itself.
const (
	once     = 100e3 // ns, of one event: an interrupt
	perEvent = 20e3  // ns
	share    = 0.1
)

// missed returns how many of n events perf may have missed.
func missed(events float64) float64 { return 6 + 0.15*events }

// events returns the number of events of a row; -1 if the row has no such
// column.
func events(row testkit.Row) float64 {
	for _, name := range counted {
		if n, err := number(row[name]); err == nil {
			return n
		}
	}
	return -1
}

// forget removes the rows that the other side lacks, if they have no more events
// than perf may miss.
func forget(rows, others map[string]testkit.Row) {
	for key, row := range rows {
		if others[key] == nil && events(row) <= missed(0) {
			delete(rows, key)
		}
	}
}

// quantileError is the largest relative error of a quantile; see the README.
const quantileError = 0.008

// A record is a table, a histogram or stacks; members that its type does not
// have are empty.
type record struct {
	Name, Title string
	Loss        map[string]int64
	Columns     []column
	Rows        []testkit.Row
	Keys        []column
	Unit        string
	Stacks      []struct {
		Key          map[string]any
		Count, Value int64
		Stack        []testkit.Frame
	}
}

type column struct{ Name, Kind, Unit string }

// An Outcome is the result of a comparison.
type Outcome struct {
	Rows int // rows that were compared
	// Lost is the number of events of any process that an engine lost.
	Lost  int64
	Wrong []string // the differences
}

func (o *Outcome) differ(format string, args ...any) {
	o.Wrong = append(o.Wrong, fmt.Sprintf(format, args...))
}

// Compare compares the outputs of the two engines.
func (c *Comparison) Compare(t testing.TB, words map[string]string, kernel, native string) *Outcome {
	t.Helper()
	o := &Outcome{}
	for _, kind := range []string{"table", "histogram", "stacks"} {
		k, n := testkit.All[record](t, kernel, kind), testkit.All[record](t, native, kind)
		if len(k) != len(n) {
			o.differ("got %d records of type %s, want %d", len(k), kind, len(n))
			continue
		}
		for i := range k {
			c.records(o, words, &k[i], &n[i])
		}
	}
	k, n := c.bothSides(c.lines(t, words, kernel), c.lines(t, words, native))
	if !slices.Equal(k, n) {
		o.differ("lines: %s", difference(k, n))
	}
	o.Rows += len(n)
	return o
}

func (c *Comparison) records(o *Outcome, words map[string]string, k, n *record) {
	if k.Name != n.Name || k.Title != n.Title && !strings.Contains(k.Title, "sample") {
		o.differ("got %s %q, want %s %q", k.Name, k.Title, n.Name, n.Title)
		return
	}
	o.Lost += k.Loss["lost"] + k.Loss["dropped"] + k.Loss["broken"] + n.Loss["lost"] + n.Loss["dropped"] +
		n.Loss["broken"]
	for _, loss := range []string{"errors", "evicted", "unmatched"} {
		// These are halves of pairs whose other half came before an engine
		// began to observe, or after it ended.
		if d := k.Loss[loss] - n.Loss[loss]; d != 0 &&
			(loss != "unmatched" || c.ByThread && (d < -8 || d > 8)) {
			o.differ("%s: got %d %s, want %d", n.Name, k.Loss[loss], loss, n.Loss[loss])
		}
	}
	if n.Stacks != nil || k.Stacks != nil {
		c.stacks(o, k, n)
		return
	}
	keys := c.keys(n)
	kr, nr := c.rows(k, keys, words), c.rows(n, keys, words)
	o.Rows += len(nr)
	if c.Wakes {
		forget(kr, nr)
		forget(nr, kr)
	}
	if a, b := slices.Sorted(maps.Keys(kr)), slices.Sorted(maps.Keys(nr)); !slices.Equal(a, b) {
		o.differ("%s: rows: %s", n.Name, difference(a, b))
		return
	}
	for key, row := range nr {
		if c.Wakes && events(kr[key]) != events(row) {
			if d := math.Abs(events(kr[key]) - events(row)); d > missed(events(kr[key])) {
				o.differ("%s %s: got %v events, want %v", n.Name, key, events(kr[key]), events(row))
			}
			continue
		}
		if buckets, ok := row["buckets"]; ok {
			if o.compareBuckets(n, key, kr[key]["buckets"].([]any),
				buckets.([]any)); fmt.Sprint(kr[key]["count"]) != fmt.Sprint(row["count"]) {
				o.differ("%s %s: got %v events, want %v", n.Name, key, kr[key]["count"], row["count"])
			}
			continue
		}
		for _, col := range n.Columns {
			if c.Wakes && col.Name == "unseen" {
				continue // wake-ups that an engine missed
			}
			if !slices.Contains(keys, col.Name) && !slices.Contains(c.Ignore, col.Name) {
				o.cell(n, key, col, kr[key], row, c.lost(k))
			}
		}
	}
}

// lost returns how many events may be missing from a row that programs counted.
func (c *Comparison) lost(k *record) float64 {
	if !c.Recursive || c.Mine != nil {
		return 0
	}
	return float64(k.Loss["lost"])
}

// keys are the columns that identify a row.
func (c *Comparison) keys(n *record) (keys []string) {
	for _, col := range append(slices.Clone(n.Columns), n.Keys...) {
		if col.Kind == "key" && !slices.Contains(c.Ignore, col.Name) {
			keys = append(keys, col.Name)
		}
	}
	return keys
}

// rows returns the scene's rows by key. If columns of the key are ignored,
// several rows become one, with the sums of their numbers.
func (c *Comparison) rows(r *record, keys []string, words map[string]string) map[string]testkit.Row {
	rows, merged := map[string]testkit.Row{}, map[string]int{}
	for _, row := range r.Rows {
		of := row
		if key, ok := row["key"].(map[string]any); ok && r.Columns == nil {
			of = key // of a histogram
		}
		if !c.mine(of, words) {
			continue
		}
		var name []string
		for _, k := range keys {
			name = append(name, k+"="+text(of, k))
		}
		key := strings.Join(name, " ")
		if old := rows[key]; old != nil {
			row = added(old, row)
		}
		if len(c.Ignore) > 0 {
			row = maps.Clone(row)
			row["rows"] = json.Number(strconv.Itoa(merged[key] + 1))
		}
		merged[key]++
		rows[key] = row
	}
	return rows
}

// text returns a cell as it is shown. Its text is preferred, because the
// numbers of stacks differ between runs.
func text(row testkit.Row, column string) string {
	if s, ok := row[column+"_text"]; ok {
		return fmt.Sprint(s)
	}
	return fmt.Sprint(row[column])
}

func added(a, b testkit.Row) testkit.Row {
	sum := maps.Clone(a)
	for name, v := range b {
		x, err1 := number(a[name])
		y, err2 := number(v)
		if err1 == nil && err2 == nil {
			sum[name] = json.Number(strconv.FormatFloat(x+y, 'f', -1, 64))
		}
	}
	return sum
}

func number(v any) (float64, error) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, fmt.Errorf("%v is no number", v)
	}
	return n.Float64()
}

func (c *Comparison) mine(row testkit.Row, words map[string]string) bool {
	for column, pattern := range c.Mine {
		if v, ok := row[column]; ok {
			if match, err := path.Match(Words(pattern, words), fmt.Sprint(v)); err != nil || !match {
				return false
			}
		}
	}
	return true
}

// counted are the names of columns with the number of events of a row.
var counted = []string{
	"calls", "count", "runs", "reqs", "waits", "exits", "stalls", "ended", "requests", "sched-in",
	"switches", "objects",
}

var quantile = regexp.MustCompile(`^p\d+$`)

// cell compares a cell of the two rows of a key.
func (o *Outcome) cell(n *record, key string, col column, k, row testkit.Row, lost float64) {
	got, want := fmt.Sprint(k[col.Name]), fmt.Sprint(row[col.Name])
	if got == want {
		return
	}
	x, err1 := number(k[col.Name])
	y, err2 := number(row[col.Name])
	say := func() { o.differ("%s %s: got %s %s, want %s", n.Name, key, col.Name, got, want) }
	switch {
	case err1 != nil || err2 != nil:
		say()
	case col.Unit == "ns":
		events := max(1, events(row))
		if quantile.MatchString(col.Name) || col.Name == "min" || col.Name == "max" || col.Name == "avg" {
			events = 1
		}
		if math.Abs(x-y) > once+events*perEvent+share*max(x, y) {
			say()
		}
	case quantile.MatchString(col.Name) && math.Abs(x-y) <= quantileError*math.Abs(y)+1:
	case slices.Contains(counted, col.Name) && x < y && x+lost >= y:
	default:
		say()
	}
}

// compareBuckets compares histograms. An event whose time differs may be in the
// next bucket. So the number of values of one histogram below a bound must lie
// between the numbers of the other below the previous and below the next bound.
func (o *Outcome) compareBuckets(n *record, key string, k, row []any) {
	below := func(buckets []any) map[string]float64 {
		sums, sum := map[string]float64{}, 0.0
		for _, b := range buckets {
			count, _ := number(b.([]any)[2])
			sum += count
			sums[fmt.Sprint(b.([]any)[1])] = sum
		}
		return sums
	}
	if n.Unit != "ns" {
		if fmt.Sprint(k) != fmt.Sprint(row) {
			o.differ("%s %s: got buckets %v, want %v", n.Name, key, k, row)
		}
		return
	}
	got, want := below(k), below(row)
	total := 0.0
	for _, v := range want {
		total = max(total, v)
	}
	for i, b := range row {
		at := func(i int) float64 {
			switch {
			case i < 0:
				return 0
			case i >= len(row):
				return total
			}
			return want[fmt.Sprint(row[i].([]any)[1])]
		}
		if v, ok := got[fmt.Sprint(b.([]any)[1])]; ok && (v < at(i-1) || v > at(i+1)) {
			o.differ("%s %s: got buckets %v, want %v", n.Name, key, k, row)
			return
		}
	}
}

// stacks compares stacks, frame by frame.
func (c *Comparison) stacks(o *Outcome, k, n *record) {
	if c.Sampled {
		a, b := heaviest(k), heaviest(n)
		o.Rows += len(n.Stacks)
		if a == "" || a != b {
			o.differ("%s: got most samples of %q, want of %q", n.Name, a, b)
		}
		return
	}
	a, b := folded(k), folded(n)
	o.Rows += len(b)
	if !slices.Equal(a, b) {
		o.differ("%s: %s", n.Name, difference(a, b))
	}
}

// difference returns the elements that only one of two sorted lists has.
func difference(got, want []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "got %d, want %d", len(got), len(want))
	const enough = 2000 // bytes
	for b.Len() < enough && len(got)+len(want) > 0 {
		switch {
		case len(want) == 0 || len(got) > 0 && got[0] < want[0]:
			fmt.Fprintf(&b, "\n\tgot      %s", got[0])
			got = got[1:]
		case len(got) == 0 || want[0] < got[0]:
			fmt.Fprintf(&b, "\n\twant too %s", want[0])
			want = want[1:]
		default:
			got, want = got[1:], want[1:]
		}
	}
	return b.String()
}

// folded returns stacks as sorted lines.
func folded(r *record) (lines []string) {
	for _, s := range r.Stacks {
		line := fmt.Sprintf("%v %d %d", s.Key, s.Count, s.Value)
		for _, f := range s.Stack {
			line += " " + f.Symbol + "@" + f.Addr
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// heaviest returns the function that is in most samples, if these are more than
// half of all; "" if there is none. If several functions are in as many
// samples, it is the first.
func heaviest(r *record) (most string) {
	in, all := map[string]int64{}, int64(0)
	for _, s := range r.Stacks {
		all += s.Count
		seen := map[string]bool{}
		for _, f := range s.Stack {
			if !seen[f.Symbol] {
				in[f.Symbol] += s.Count
			}
			seen[f.Symbol] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if in[name] > in[most] && in[name] > all/2 {
			most = name
		}
	}
	return most
}

// timed are the names of fields that are times.
var timed = regexp.MustCompile(
	`^(time|took|wait|delay|ran|age|lasted|since|period|latency|rundelay|slot|begin|end)$`)

// A line is a line of a log: thread and event. took is how long the event lasted, in ns; 0 if the
// line does not say.
type line struct {
	text string
	took float64
}

// lasting are the names of fields that are durations.
var lasting = []string{"delay", "took", "lasted", "latency", "wait", "rundelay", "ran"}

// than is the option of scripts that show only events longer than a threshold.
var than = regexp.MustCompile(`--(?:only-)?than=(\S+)`)

// bothSides returns the texts of the lines of two engines. Each engine reads its own clock, so an
// event may be longer than the threshold for one engine and shorter for the other. Lines that only
// one engine has are left out if their time is so close to the threshold.
func (c *Comparison) bothSides(a, b []line) (as, bs []string) {
	limit := 0.0
	if option := than.FindStringSubmatch(c.Args); option != nil {
		if d, err := time.ParseDuration(option[1]); err == nil {
			limit = float64(d) + share*float64(d) + once
		}
	}
	count := map[string]int{} // lines of a minus lines of b
	for _, l := range a {
		count[l.text]++
	}
	for _, l := range b {
		count[l.text]--
	}
	rest := func(lines []line, more int) (texts []string) {
		for _, l := range lines {
			if more*count[l.text] > 0 && l.took > 0 && l.took < limit {
				count[l.text] -= more
				continue
			}
			texts = append(texts, l.text)
		}
		slices.Sort(texts)
		return texts
	}
	return rest(a, 1), rest(b, -1)
}

// lines returns the lines of logs.
func (c *Comparison) lines(t testing.TB, words map[string]string, output string) (lines []line) {
	for _, e := range testkit.Events(t, output) {
		fields := testkit.Row(e.Fields)
		if !c.mine(testkit.Row{"comm": e.Comm, "pid": e.PID}, words) || !c.mine(fields, words) {
			continue
		}
		text, took := fmt.Sprintf("%s %s %d %s", e.Name, e.Comm, e.TID, e.Event), 0.0
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if ns, err := number(fields[name]); err == nil && slices.Contains(lasting, name) {
				took = max(took, ns)
			}
			if !timed.MatchString(name) && !slices.Contains(c.Ignore, name) {
				text += fmt.Sprintf(" %s=%v", name, fields[name])
			}
		}
		for _, stack := range [][]testkit.Frame{e.Stack, e.Waker} {
			for _, f := range stack {
				text += " " + cmp.Or(f.Symbol, f.Addr)
			}
			text += ";"
		}
		lines = append(lines, line{text, took})
	}
	for _, d := range testkit.All[detail](t, output, "detail") {
		if c.mine(testkit.Row{"comm": d.Start.Comm, "pid": d.Start.PID}, words) {
			lines = append(lines, line{d.String(), d.Delay})
		}
	}
	return lines
}

// A detail is a slow pair with the events during it.
type detail struct {
	Name, Pair string
	Delay      float64 // ns
	Start, End detailEvent
	Incomplete bool
	Events     []struct {
		Part, State string
		detailEvent
	}
}

type detailEvent struct {
	Comm        string
	PID, TID    int
	CPU         int
	Event, Text string
}

func (e *detailEvent) String() string {
	return fmt.Sprintf("%s %d/%d [%d] %s %s", e.Comm, e.PID, e.TID, e.CPU, e.Event, e.Text)
}

// String lists the events in order, without those before and after the pair: which of
// these are near enough depends on times, which are not the same in both engines.
func (d *detail) String() string {
	text := fmt.Sprintf("%s %s incomplete=%v: %s", d.Name, d.Pair, d.Incomplete, &d.Start)
	for i := range d.Events {
		if e := &d.Events[i]; e.Part == "between" {
			text += fmt.Sprintf("; %s %s", e.State, &e.detailEvent)
		}
	}
	return text + "; " + d.End.String()
}
