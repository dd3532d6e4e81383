package agg

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/key"
	"ppscript/runtime/result"
)

// This file takes rows of Groups apart into plain data that can be sent to other machines, and puts
// the rows of several machines together. The merged rows are exact, except for the bound that a
// sketch states, and do not depend on the order in which rows come, since everything in a row adds
// up. Only a standard deviation may differ in its last digits, by rounding.

// A Row is a row of a Group as plain data.
type Row struct {
	Key []event.Value
	// Other says that the row is for all keys that found no room; Key is then
	// empty.
	Other    bool
	Measures []Measure // one for each argument
	Contents []Content // one for each aggregator that has a State
	Doubts   []Doubt   // about the Measures; nil if they are exact
}

// A Content is a State as plain data. Each aggregator uses the members that it
// needs.
type Content struct {
	// Values are the first numbers of a quantile, exact; Buckets count the others. The fields after
	// them are the number of bucketed values, the least and the greatest.
	Values          []event.Number
	Buckets         []BucketCount
	Floats          bool // the buckets hold doubles
	N               uint64
	Least, Greatest event.Number
	Counters        []uint64     // of a histogram
	Counts          []ValueCount // of top
	Packed          []string     // the values of distinct, as key.AppendValue packs them
	// First, Mean and Squares are for a standard deviation.
	First         event.Number
	Mean, Squares float64
	Scale         int
}

// A ValueCount is a value and how often it came.
type ValueCount struct {
	Value event.Value
	N     uint64
}

// errContent is the error for received data that no State can have written.
var errContent = errors.New("the state of an aggregator is not possible")

// portable is a State that can be sent to other machines. Valid returns an error for a Content that
// no State of the same Agg can have; Take adds a valid one.
type portable interface {
	State
	Content() Content
	Valid(c *Content) error
	Take(c *Content)
}

// CheckPortable returns an error that names an aggregator whose rows cannot be merged.
func CheckPortable(aggs []Agg) error {
	for i := range aggs {
		if op := aggs[i].Op; op.New != nil {
			state := op.New(&aggs[i], new(Workspace))
			if _, ranked := state.(rankedState); ranked {
				return fmt.Errorf("%s keeps a value of one event, which is not sent elsewhere", op.Name)
			}
			if _, ok := state.(portable); !ok {
				return fmt.Errorf("%s depends on the order of events, which those of several machines do not have",
					op.Name)
			}
		}
	}
	return nil
}

// Aggs are the aggregators, and how many arguments they have.
func (g *Group) Aggs() ([]Agg, int) { return g.spec.Aggs, len(g.spec.Args) }

// Parts yields the rows as plain data; the row of keys without room comes last. The caller may keep
// them. The aggregators must be portable.
func (g *Group) Parts(yield func(*Row) bool) {
	keys := make([][]event.Value, len(g.rows))
	g.keys(keys)
	for r := range g.rows {
		if !yield(g.part(r, keys[r])) {
			return
		}
	}
	if g.rest != nil && len(g.rest.rows) > 0 {
		other := g.rest.part(0, nil)
		other.Other = true
		yield(other)
	}
}

func (g *Group) part(r int, cells []event.Value) *Row {
	n := len(g.spec.Args)
	row := &Row{Key: cells, Measures: slices.Clone(g.measures[r*n : (r+1)*n]), Doubts: g.doubtsOf(r)}
	for _, state := range g.states[r*g.stride : (r+1)*g.stride] {
		row.Contents = append(row.Contents, state.(portable).Content())
	}
	return row
}

// Values yields the values that the cell of the i-th aggregator shows, or may show after merging.
// The caller may replace the values of top; a replacement for another aggregator has no effect.
func (r *Row) Values(aggs []Agg, i int) iter.Seq[*event.Value] {
	return func(yield func(*event.Value) bool) {
		a := &aggs[i]
		if a.Op.Cell != nil {
			if v := a.Op.Cell(a, &r.Measures[a.Arg]); v.Kind != event.None {
				yield(&v)
			}
			return
		}
		slot := 0
		for k := range i {
			if aggs[k].Op.New != nil {
				slot++
			}
		}
		if a.Op != Top || slot >= len(r.Contents) {
			return
		}
		for k := range r.Contents[slot].Counts {
			if !yield(&r.Contents[slot].Counts[k].Value) {
				return
			}
		}
	}
}

// A Union is the rows of several Groups of the same aggregators, put together by key.
type Union struct {
	aggs   []Agg
	args   int
	stride int
	limit  int
	rows   map[string]*unionRow
	other  *unionRow
	work   Workspace
}

type unionRow struct {
	key      []event.Value
	measures []Measure
	states   []State
	doubts   []Doubt
}

// NewUnion makes an empty Union with at most limit rows; 0 is key.DefaultLimit. Further keys are
// evicted into the row of other keys.
func NewUnion(aggs []Agg, args, limit int) *Union {
	if limit <= 0 {
		limit = key.DefaultLimit
	}
	u := &Union{aggs: aggs, args: args, limit: limit, rows: map[string]*unionRow{}}
	for i := range aggs {
		if aggs[i].Op.New != nil {
			u.stride++
		}
	}
	return u
}

// Add adds a row and keeps its texts. It returns an error for a row of other aggregators.
func (u *Union) Add(r *Row) error {
	if len(r.Measures) != u.args || len(r.Contents) != u.stride {
		return errContent
	}
	if err := validDoubts(r.Doubts, u.args); err != nil {
		return err
	}
	b := u.work.pack[:0]
	for _, v := range r.Key {
		b = key.AppendValue(b, v)
	}
	u.work.pack = b
	at := u.other
	if !r.Other {
		at = u.rows[string(b)]
	}
	fresh := at == nil
	if fresh {
		at = u.fresh()
	}
	for slot, state := range at.states {
		if err := state.(portable).Valid(&r.Contents[slot]); err != nil {
			return err
		}
	}
	if fresh && !r.Other && len(u.rows) >= u.limit {
		u.work.evicted += most(r.Measures)
		own := *r
		own.Key, own.Other = nil, true
		return u.Add(&own)
	}
	for slot, state := range at.states {
		state.(portable).Take(&r.Contents[slot])
	}
	for i := range r.Measures {
		at.measures[i].Merge(&r.Measures[i])
	}
	at.doubt(r.Doubts)
	switch {
	case r.Other:
		u.other = at
	case fresh:
		at.key = slices.Clone(r.Key)
		u.rows[packed(r.Key)] = at // Workspace.pack may have been overwritten
	}
	return nil
}

func packed(values []event.Value) string {
	var b []byte
	for _, v := range values {
		b = key.AppendValue(b, v)
	}
	return string(b)
}

// most is the number of events of a row; no argument can have more.
func most(measures []Measure) (n uint64) {
	for i := range measures {
		n = max(n, measures[i].N)
	}
	return n
}

func (u *Union) fresh() *unionRow {
	row := &unionRow{measures: make([]Measure, u.args)}
	for i := range u.aggs {
		if a := &u.aggs[i]; a.Op.New != nil {
			row.states = append(row.states, a.Op.New(a, &u.work))
		}
	}
	return row
}

// Loss counts the rows and values that were not kept because of a bound.
func (u *Union) Loss() event.Loss { return event.Loss{Evicted: u.work.evicted} }

// sorted returns the rows ordered by key, so that results do not depend on the order
// of arrival.
func (u *Union) sorted() []*unionRow {
	rows := make([]*unionRow, 0, len(u.rows))
	for _, r := range u.rows {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b *unionRow) int {
		return slices.CompareFunc(a.key, b.key, event.Value.Compare)
	})
	return rows
}

// Rows returns the rows in the form of Group.Rows, ordered by key. Without key columns there
// is always one row.
func (u *Union) Rows(keys int) [][]event.Value {
	list := u.sorted()
	if keys == 0 && len(list) == 0 {
		list = append(list, u.fresh())
	}
	rows := make([][]event.Value, 0, len(list))
	for _, r := range list {
		rows = append(rows, u.cells(slices.Clone(r.key), r))
	}
	return rows
}

// Other is the row of the keys that found no room, nil if all did.
func (u *Union) Other(keys int) []event.Value {
	if u.other == nil {
		return nil
	}
	return u.cells(slices.Repeat([]event.Value{event.StrOf(OtherKey)}, keys), u.other)
}

func (u *Union) cells(row []event.Value, r *unionRow) []event.Value {
	slot := 0
	for i := range u.aggs {
		a := &u.aggs[i]
		m := &r.measures[a.Arg]
		var v event.Value
		switch {
		case a.Op.Cell != nil:
			v = a.Op.Cell(a, m)
		case m.N > 0:
			v = ordered(a, r.states[slot]).Cell()
		}
		if a.Op.New != nil {
			slot++
		}
		row = append(row, v)
	}
	return row
}

// Cells returns the cells of a row of a Union, one for each aggregator.
func (u *Union) Cells(r *Row) []event.Value {
	at := u.fresh()
	copy(at.measures, r.Measures)
	for slot, state := range at.states {
		state.(portable).Take(&r.Contents[slot])
	}
	return u.cells(nil, at)
}

// ordered is a state whose values must be sorted for output, since merging
// loses their order.
func ordered(a *Agg, s State) State {
	t, ok := s.(*top)
	if !ok {
		return s
	}
	c, own := t.Content(), a.Op.New(a, new(Workspace)).(*top)
	own.Take(&c)
	return own
}

// Histograms returns the rows of a Union whose only aggregator is a histogram, and the row of the
// keys without room, which has no buckets if all keys found room.
func (u *Union) Histograms(keys int) (rows []result.KeyDistribution, other result.KeyDistribution) {
	for _, r := range u.sorted() {
		if h := u.histogram(r); h != nil {
			rows = append(rows, result.KeyDistribution{Key: r.key,
				Distribution: result.Distribution{Buckets: h, Sum: r.measures[0].Sum().Float()}})
		}
	}
	if u.other != nil {
		other = result.KeyDistribution{Key: slices.Repeat([]event.Value{event.StrOf(OtherKey)}, keys),
			Distribution: result.Distribution{Buckets: u.histogram(u.other),
				Sum: u.other.measures[0].Sum().Float()}}
	}
	return rows, other
}

func (u *Union) histogram(r *unionRow) []result.Bucket {
	h := r.states[0].(*histogram)
	if !h.some {
		return nil
	}
	return u.aggs[0].buckets(h.counts)
}

// Parts yields the merged rows as plain data, ordered by key, to be sent on.
func (u *Union) Parts(yield func(*Row) bool) {
	part := func(r *unionRow) *Row {
		row := &Row{Key: r.key, Measures: slices.Clone(r.measures), Doubts: slices.Clone(r.doubts)}
		for _, state := range r.states {
			row.Contents = append(row.Contents, state.(portable).Content())
		}
		return row
	}
	for _, r := range u.sorted() {
		if !yield(part(r)) {
			return
		}
	}
	if u.other != nil {
		row := part(u.other)
		row.Other = true
		yield(row)
	}
}

// Content implements portable.
func (q *quantile) Content() Content {
	q.settle()
	s := &q.sketch
	c := Content{N: s.n, Least: s.min, Greatest: s.max}
	if s.n <= ExactValues && !s.counted {
		c.Values = slices.Clone(s.exact)
		return c
	}
	s.spread()
	c.Buckets, c.Floats = s.buckets(), s.floats
	return c
}

// mostBucket is the bucket of the largest number.
var mostBucket = Bucket(math.MaxUint64)

// floatBucketExists reports that a bucket number is in the range of doubles.
func floatBucketExists(b int) bool {
	return b == zeroBucket ||
		b >= floatBucket(math.SmallestNonzeroFloat64) && b <= floatBucket(math.MaxFloat64)
}

// Valid implements portable.
func (q *quantile) Valid(c *Content) error {
	if len(c.Buckets) == 0 {
		if uint64(len(c.Values)) != c.N || c.N > ExactValues {
			return errContent
		}
		return nil
	}
	var n uint64
	for _, b := range c.Buckets {
		exists := b.Bucket >= 0 && b.Bucket <= mostBucket
		if c.Floats {
			exists = floatBucketExists(b.Bucket)
		}
		if !exists || b.N > math.MaxUint64-n {
			return errContent
		}
		n += b.N
	}
	if n != c.N || n == 0 || len(c.Values) > 0 || c.Least.Compare(c.Greatest) > 0 {
		return errContent
	}
	return nil
}

// Take implements portable.
func (q *quantile) Take(c *Content) {
	for _, v := range c.Values {
		q.sketch.Add(v)
	}
	q.sketch.addBuckets(c.Least, c.Greatest, c.Buckets, c.Floats)
}

// Content implements portable.
func (h *histogram) Content() Content {
	return Content{Counters: slices.Clone(h.counts)}
}

// Valid implements portable.
func (h *histogram) Valid(c *Content) error {
	if len(c.Counters) != len(h.counts) {
		return errContent
	}
	return nil
}

// Take implements portable.
func (h *histogram) Take(c *Content) { h.add(c.Counters) }

// Content implements portable.
func (d *distinct) Content() Content {
	var c Content
	for packed := range d.set {
		c.Packed = append(c.Packed, packed)
	}
	slices.Sort(c.Packed)
	return c
}

// Valid implements portable.
func (d *distinct) Valid(*Content) error { return nil }

// Take implements portable.
func (d *distinct) Take(c *Content) {
	for _, packed := range c.Packed {
		if _, there := d.set[packed]; !there {
			d.insert(strings.Clone(packed))
		}
	}
}

// Content implements portable.
func (t *top) Content() Content {
	var c Content
	for i, v := range t.values {
		c.Counts = append(c.Counts, ValueCount{v, t.n[i]})
	}
	slices.SortFunc(c.Counts, func(a, b ValueCount) int { return a.Value.Compare(b.Value) })
	return c
}

// Valid implements portable.
func (t *top) Valid(*Content) error { return nil }

// Take implements portable.
func (t *top) Take(c *Content) {
	for _, x := range c.Counts {
		t.addCount(x.Value, x.N)
	}
}

// Content implements portable.
func (d *deviation) Content() Content {
	return Content{N: uint64(d.n), First: d.first, Mean: d.mean, Squares: d.squares, Scale: d.scale}
}

// Valid implements portable.
func (d *deviation) Valid(c *Content) error {
	if !(c.Squares >= 0) || math.IsInf(c.Squares, 0) || math.IsNaN(c.Mean) || math.IsInf(c.Mean, 0) ||
		c.Scale != 0 && c.Scale != rescale {
		return errContent
	}
	return nil
}

// Take implements portable.
func (d *deviation) Take(c *Content) {
	d.Merge(&deviation{n: float64(c.N), first: c.First, mean: c.Mean, squares: c.Squares, scale: c.Scale})
}
