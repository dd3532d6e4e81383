package bpf

import (
	"ppscript/runtime/agg"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// A Spec is what shall be computed: events that feed joins and tables.
type Spec struct {
	Events []*Event
	Joins  []*Join
	Folds  []*Fold
	Tables []*Table
	// Intervals says that tables are read and emptied while events come;
	// each then has two generations of maps.
	Intervals bool
	// Counted has each program count the events that it takes, by CPU.
	Counted bool
}

// An Event is one tracepoint, or one event of perf that is sampled. The latter
// is opened by somebody else, on the target, and has the program set.
type Event struct {
	Schema  *event.Schema
	Sampled bool
	Label   string
	Filter  expr.Node // nil passes all
	CPUs    []int     // nil is all of the target's
	Feeds   []Feed
	Stack   *StackSpec // nil if nobody asks for it

	stacked bool // somebody counts by it
}

// A Feed is where events, or pairs, go if all of Preds hold: to a table, into a
// join, to a fold, or out of the kernel.
type Feed struct {
	Preds []expr.Node

	Emit *Record

	Table *Table
	Keys  []expr.Node // of the table's columns
	Args  []Arg       // one for each of the table's arguments

	Join  *Join
	Stage int
	Key   expr.Node
	Role  expr.Node // nil is both

	Fold *Fold     // of Key, which may have several columns
	Step expr.Node // its function

	// Wakes is the task that the event wakes, and WakesOn its CPU: one that
	// runs there, or is the running task itself, is not waiting. Next is the
	// task that the event lets run, for that. All may be nil.
	Wakes, WakesOn, Next expr.Node
}

// An Arg is what one event contributes to an argument of the aggregators.
type Arg struct {
	Off   bool      // nothing
	Fn    expr.Node // nil: only the count matters
	Where expr.Node // nil: always
}

// A Join relates events by key. Its key is an integer, or a text.
type Join struct {
	Stages int
	Cycle  bool
	Limit  int // of what waits; 0 is the default
	Pairs  []Pair

	index   int
	keyRoom int // bytes
	text    bool
	tasks   bool // kept with the task, not in a hash
	saved   []savedField
	size    int // of what waits, in bytes
	needKey bool
}

// A Pair is what a start (by index in Spec.Events) and an end make.
type Pair struct {
	Start, End int
	Feeds      []Feed
}

// A Table is an agg.Group whose rows the kernel keeps.
type Table struct {
	Name  string
	Aggs  []agg.Agg
	Args  int
	Limit int // of rows; 0 is the default

	index  int
	cols   []column
	keyLen int
	value  valueLayout
}

// A column of a key.
type column struct {
	text  bool
	stack bool
	off   int
	size  int
}

// valueLayout is where a row keeps what; offsets in bytes, -1 is nowhere.
//
//	u64 hits   events of the row
//	u64 first  when the row was made, ns
//	for each argument: n, sum, min, max, a histogram, as far as needed
type valueLayout struct {
	size   int
	args   []argLayout
	dense  bool // small integer keys have an array
	sketch bool // some argument has log-linear buckets, in a map of their own
	self   int  // with sketch: the address of the row, the key of its buckets
}

type argLayout struct {
	n, sum, min, max int
	hist, nhist      int // first counter, number of them
	agg              int // index of the histogram's aggregator
	sketch           bool
}

const (
	hitsAt  = 0
	firstAt = 8
)

// denseRows is how many rows the array has that small integer keys use:
// system calls, interrupts, CPUs. An array costs a fraction of a hash.
const denseRows = 512

// denseSize bounds the value of such rows.
const denseSize = 160

// layout settles where the rows of t keep what.
func (t *Table) layout() {
	v := &t.value
	v.size = 16
	word := func() int {
		v.size += 8
		return v.size - 8
	}
	v.args = make([]argLayout, t.Args)
	for i := range v.args {
		a := &v.args[i]
		*a = argLayout{n: word(), sum: -1, min: -1, max: -1, hist: -1}
		for k := range t.Aggs {
			g := &t.Aggs[k]
			if g.Arg != i {
				continue
			}
			need := func(at *int) {
				if *at < 0 {
					*at = word()
				}
			}
			kept := g.Op.Kernel
			if kept == nil {
				refuse("%s needs the events themselves", g.Op.Name)
			}
			if kept.Sum {
				need(&a.sum)
			}
			if kept.Min {
				need(&a.min)
			}
			if kept.Max {
				need(&a.max)
			}
			if kept.Sketch {
				a.sketch, v.sketch = true, true
			}
			if kept.Counters == nil {
				continue
			}
			if a.hist >= 0 {
				refuse("two histograms of one argument")
			}
			a.agg, a.hist, a.nhist = k, v.size, kept.Counters(g)
			if a.nhist < 2 || a.nhist > 2048 {
				refuse("a histogram of %d counters", a.nhist)
			}
			v.size += 8 * a.nhist
		}
	}
	if v.sketch {
		v.self = word()
	}
	if v.size > 30<<10 {
		refuse("rows of %d bytes", v.size)
	}
	v.dense = len(t.cols) == 1 && !t.cols[0].text && !t.cols[0].stack && v.size <= denseSize
}

// columnsOf settles the layout of a key from all that feeds its table or fold.
func columnsOf(feeds []keyed) (cols []column, size int) {
	for i := range feeds[0].keys {
		col := column{off: size}
		for k, f := range feeds {
			n := f.keys[i]
			switch {
			case isStack(n):
				col.stack, col.size = true, stackKey
				f.g.stackSpec(n)
				f.g.spec.Events[f.g.index].stacked = true
			case n.Type().Kind == expr.Str:
				col.text, col.size = true, max(col.size, f.g.room(n))
			case n.Type().Numeric():
				col.size = 8
			default:
				refuse("key %s is a %s", n, n.Type())
			}
			if k > 0 && (col.text != (n.Type().Kind == expr.Str) || col.stack != isStack(n)) {
				refuse("key %s has two kinds", n)
			}
		}
		size += col.size
		cols = append(cols, col)
	}
	if size == 0 {
		size = 8 // one row: key 0
	}
	return cols, size
}

type keyed struct {
	g    *gen
	keys []expr.Node
}

// A savedField is a field of starts that somebody reads of the pair.
type savedField struct {
	name  string
	field *expr.Field // as the start itself reads it
	event int         // whose field it is; the same field of others is separate
	off   int         // in what waits
	size  int
	text  bool
}

// What waits: when, and which event, 0 if nobody; then the saved fields.
const (
	waitTime  = 0
	waitEvent = 8
	waitSaved = 16
)
