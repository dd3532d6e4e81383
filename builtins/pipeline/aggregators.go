package pipeline

import (
	"errors"

	b "ppscript/builtins"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/plan"

	"go.starlark.net/starlark"
)

// An aggregator is the value of a call agg.NAME(...): the description of one
// column to compute.
type aggregator struct{ col plan.AggCol }

func (a *aggregator) String() string        { return "<aggregator " + a.col.Agg.Op.Name + ">" }
func (a *aggregator) Type() string          { return "aggregator" }
func (a *aggregator) Freeze()               {}
func (a *aggregator) Truth() starlark.Bool  { return true }
func (a *aggregator) Hash() (uint32, error) { return 0, errors.New("unhashable: aggregator") }

// aggregators declares agg.NAME for each operation that has a summary; the
// others are methods of streams. agg.stacks is agg.top over stacks.
func aggregators() []*b.Builtin {
	var list []*b.Builtin
	for _, op := range agg.Ops {
		if op.Summary == "" {
			continue
		}
		list = append(list, aggregatorOf(op, b.Param{
			Name: "value", Type: b.Expression, Required: true, Doc: "what to aggregate",
		}))
		if op == agg.Top {
			list = append(list, topStacks())
		}
	}
	return list
}

// topStacks declares agg.stacks: agg.top whose value is by default the event's
// stack.
func topStacks() *b.Builtin {
	x := aggregatorOf(agg.Top, b.Param{
		Name: "stack", Type: b.Expression, Default: starlark.String(plan.Stack),
		Doc: "the stack: the event's own, or start.stack of a pair",
	})
	x.Name = "agg.stacks"
	x.Summary = "Finds the most frequent call stacks."
	x.Result = "a list of (stack, count), most frequent first: how often, then the frames, outermost first"
	x.Cost = "100 ns per event; 400 bytes for each stack"
	x.Examples = []b.Example{{Code: "agg.stacks()", Output: "<aggregator top>"}}
	return x
}

// aggregatorOf declares the builtin for op. value is the parameter with the
// expression to aggregate.
func aggregatorOf(op *agg.Op, value b.Param) *b.Builtin {
	x := &b.Builtin{
		Name: "agg." + op.Name, Group: b.Aggregators, Summary: op.Summary, Returns: "aggregator",
		Result: op.Result, Errors: runtimeE, Source: computed, Cost: op.Cost,
	}

	example := "agg." + op.Name + "("
	if !op.Bare {
		x.Params = append(x.Params, value)
		example += `"delay"`
	}
	if op.Param != nil {
		x.Params = append(x.Params, numberOf(op.Param))
		if op.Param.Example != "" {
			example += ", " + op.Param.Example
		}
	}
	of := b.Param{Name: "of", Type: b.Is("stream"), Named: true,
		Doc: "only events of this stream, one of the merged streams"}
	x.Examples = []b.Example{{Code: example + ")", Output: "<aggregator " + op.Name + ">"}}
	if at := atOutmost(op); at != nil {
		of.Type = b.Or(of.Type, b.Expression)
		of.Doc += "; or a value to show in place of the number, taken from its event (the first of several)"
		x.Examples = append(x.Examples, b.Example{Code: example + `, of = "start.comm")`,
			Output: "<aggregator " + at.Name + ">"})
	}
	x.Params = append(x.Params,
		b.Param{Name: "where", Type: b.Expression, Named: true, Doc: "only events for which this holds"}, of)

	x.Impl = func(c *b.Call) (starlark.Value, error) { return newAggregator(c, op, value.Name) }
	return x
}

// atOutmost returns the operation that keeps another value of the event with the largest or
// smallest number; nil if op is neither max nor min.
func atOutmost(op *agg.Op) *agg.Op {
	switch op {
	case agg.Max:
		return agg.AtMax
	case agg.Min:
		return agg.AtMin
	}
	return nil
}

// numberOf converts the numeric parameter p of an operation to a parameter of a
// builtin.
func numberOf(p *agg.Param) b.Param {
	param := b.Param{Name: p.Name, Type: b.Float, Required: p.Required, Doc: p.Doc}
	if p.Whole {
		param.Type = b.Int
	}
	switch {
	case p.Required:
	case p.Whole:
		param.Default = starlark.MakeInt(int(p.Default))
	default:
		param.Default = starlark.Float(p.Default)
	}
	return param
}

func newAggregator(c *b.Call, op *agg.Op, value string) (starlark.Value, error) {
	a := &aggregator{plan.AggCol{Agg: agg.Agg{Op: op}, Pos: c.Pos()}}
	if !op.Bare {
		f, err := fnOf(c, c.Value(value))
		if err != nil {
			return nil, err
		}
		a.col.Arg = &f
	}

	var err error
	if a.col.Where, err = arg(c, "where"); err != nil {
		return nil, err
	}
	if c.Has("of") {
		if s, ok := c.Value("of").(*Stream); ok {
			a.col.Of = s.S
		} else {
			shown, err := arg(c, "of")
			if err != nil {
				return nil, err
			}
			a.col.Agg.Op, a.col.Rank, a.col.Arg = atOutmost(op), a.col.Arg, shown
		}
	}

	p := op.Param
	if p == nil {
		return a, nil
	}
	var v float64
	if p.Whole {
		v = float64(c.Int(p.Name))
	} else {
		v = c.Float(p.Name)
	}
	if hint, err := p.Set(&a.col.Agg, v); err != nil {
		return nil, c.Error(p.Name, err, hint)
	}
	return a, nil
}
