package pipeline

import (
	"errors"
	"strings"

	b "ppscript/builtins"
	"ppscript/runtime/plan"

	"go.starlark.net/starlark"
)

// An aggregator is what agg.* returns: one column to be computed.
type aggregator struct{ col plan.AggCol }

func (a *aggregator) String() string        { return "<aggregator " + a.col.Op + ">" }
func (a *aggregator) Type() string          { return "aggregator" }
func (a *aggregator) Freeze()               {}
func (a *aggregator) Truth() starlark.Bool  { return true }
func (a *aggregator) Hash() (uint32, error) { return 0, errors.New("unhashable: aggregator") }

// aggregatorDocs is what differs between the aggregators.
var aggregatorDocs = []struct {
	name, summary, result, cost string
	value                       bool
}{
	{"count", "Counts events.", "a number of events", "1 ns per event", false},
	{"sum", "Adds up a number.", "the sum, signed, in the number's unit", "1 ns per event", true},
	{"min", "Keeps the smallest number.", "the smallest; nothing if there was none", "1 ns per event", true},
	{"max", "Keeps the largest number.", "the largest; nothing if there was none", "1 ns per event", true},
	{"avg", "Averages a number.", "sum divided by count, rounded towards 0; nothing if there was none", "1 ns per event", true},
	{"quantile", "Estimates a quantile of a number.",
		"the value that a share q of the values does not exceed: exact up to 64 values, within 0.8 % beyond", "3 ns per event; up to 30 KB for each key", true},
	{"last", "Keeps the newest value, number or text.", "the value of the newest event", "20 ns per event", true},
	{"first", "Keeps the oldest value, number or text.", "the value of the oldest event", "20 ns per event", true},
	{"distinct", "Counts the different values of a number or text.", "a number of values; at most 65536 are told apart", "30 ns per event", true},
	{"top", "Finds the most frequent values of a number or text.", "a list of (value, count), most frequent first; at most 65536 values are told apart", "40 ns per event; 100 bytes for each value", true},
	{"stacks", "Finds the most frequent call stacks.", "a list of (stack, count), most frequent first: how often, then the frames, outermost first", "100 ns per event; 400 bytes for each stack", true},
	{"list", "Collects all values in order.", "a list, of at most 4096 values", "20 ns per event; 56 bytes for each value", true},
}

func aggregators() []*b.Builtin {
	var list []*b.Builtin
	for _, d := range aggregatorDocs {
		x := &b.Builtin{
			Name: "agg." + d.name, Group: b.Aggregators, Summary: d.summary, Returns: "aggregator",
			Result: d.result, Errors: runtimeE, Source: computed, Cost: d.cost,
		}
		code := `agg.` + d.name + `(`
		if d.value {
			value := b.Param{Name: "value", Type: b.Expression, Required: true, Doc: "what to aggregate"}
			if d.name == "stacks" {
				value = b.Param{Name: "stack", Type: b.Expression, Default: starlark.String(plan.Stack), Doc: "the stack: the event's own, or start.stack of a pair"}
			} else {
				code += `"delay"`
			}
			x.Params = append(x.Params, value)
		}
		if d.name == "quantile" {
			x.Params = append(x.Params, b.Param{Name: "q", Type: b.Float, Required: true, Doc: "share between 0 and 1: 0.99 for p99"})
			code += `, 0.99`
		}
		if d.name == "top" || d.name == "stacks" {
			x.Params = append(x.Params, b.Param{Name: "n", Type: b.Int, Default: starlark.MakeInt(3), Doc: "how many"})
		}
		x.Params = append(x.Params,
			b.Param{Name: "where", Type: b.Expression, Named: true, Doc: "only events for which this holds"},
			b.Param{Name: "of", Type: b.Is("stream"), Named: true, Doc: "only events of this stream, one of those that were merged"})
		x.Examples = []b.Example{{Code: code + ")", Output: "<aggregator " + strings.Replace(d.name, "stacks", "top", 1) + ">"}}
		x.Impl = aggregatorOf(d.name)
		list = append(list, x)
	}
	return list
}

func aggregatorOf(name string) func(c *b.Call) (starlark.Value, error) {
	return func(c *b.Call) (starlark.Value, error) {
		a := &aggregator{plan.AggCol{Op: name, Pos: c.Pos()}}
		var err error
		switch name {
		case "count":
		case "stacks":
			f, err := FnOf(c, c.Value("stack"))
			if err != nil {
				return nil, err
			}
			a.col.Op, a.col.Arg = "top", &f
		default:
			if a.col.Arg, err = arg(c, "value"); err != nil {
				return nil, err
			}
		}
		if a.col.Where, err = arg(c, "where"); err != nil {
			return nil, err
		}
		if c.Has("of") {
			a.col.Of = c.Value("of").(*Stream).S
		}
		if a.col.Op == "top" {
			if a.col.N = int(c.Int("n")); a.col.N < 1 {
				return nil, c.Errorf("n", "got %d, want at least 1", a.col.N)
			}
		}
		if name == "quantile" {
			a.col.Q = c.Float("q")
			if a.col.Q < 0 || a.col.Q > 1 {
				return nil, c.Error("q", errors.New("want a share between 0 and 1"), "write 0.99 for p99")
			}
		}
		return a, nil
	}
}
