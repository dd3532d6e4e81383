package pipeline

import (
	"errors"
	"sync"

	b "ppscript/builtins"
	"ppscript/builtins/results"
	"ppscript/runtime/plan"
	"ppscript/runtime/script/value"

	"go.starlark.net/starlark"
)

// groups is the value of stream.by(...): a stream with keys, before agg, count
// or hist is called on it.
type groups struct {
	in plan.Stream
	by []plan.Var
}

var _ starlark.HasAttrs = (*groups)(nil)

func (g *groups) String() string        { return "<groups>" }
func (g *groups) Type() string          { return "groups" }
func (g *groups) Freeze()               {}
func (g *groups) Truth() starlark.Bool  { return true }
func (g *groups) Hash() (uint32, error) { return 0, errors.New("unhashable: groups") }

var groupMethods = sync.OnceValue(func() *b.MethodSet { return b.Methods("groups", GroupBuiltins()) })

// Attr returns a method.
func (g *groups) Attr(name string) (starlark.Value, error) {
	return groupMethods().AttrOr(g, name, []b.Habit{ofGroups, numbers},
		b.Step{Code: ".count()", To: results.TableMethods()})
}

// AttrNames lists the methods.
func (g *groups) AttrNames() []string { return groupMethods().Names() }

// GroupBuiltins declares the methods of groups: agg, count and hist, as streams
// have them.
func GroupBuiltins() []*b.Builtin {
	a, n, h := aggregate(), count(), hist()
	a.Impl = func(c *b.Call) (starlark.Value, error) {
		g := c.Receiver.(*groups)
		return tableOf(c, g.in, g.by)
	}
	n.Impl = func(c *b.Call) (starlark.Value, error) {
		g := c.Receiver.(*groups)
		return countOf(g.in, g.by), nil
	}
	h.Impl = func(c *b.Call) (starlark.Value, error) {
		g := c.Receiver.(*groups)
		return histOf(c, g.in, g.by)
	}
	h.Examples = []b.Example{
		{Code: `tracepoint("sched:sched_stat_runtime").by("comm").hist("runtime")`, Output: "<table of comm, runtime>"},
	}
	list := []*b.Builtin{a, n, h}
	for _, x := range list {
		x.Type = "groups"
	}
	return list
}

// base converts a value to an integer in base units: ns for a duration, bytes
// for a size.
func base(v starlark.Value) int64 {
	switch v := v.(type) {
	case value.Duration:
		return int64(v)
	case value.Size:
		return int64(v)
	case starlark.Int:
		n, _ := v.Int64()
		return n
	}
	return 0
}
