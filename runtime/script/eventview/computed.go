package eventview

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file has computed values (let) read as attributes.

// Of are the events that have computed values: those of a stream, known by
// its index and 1, or all of a schema, as parts of pairs are.
type Of struct {
	Stream int
	Schema *event.Schema
}

// Forget makes all attributes those that the events bring themselves.
func (c *Cache) Forget() {
	c.vars, c.all, c.stream, c.complete = nil, nil, nil, nil
	if c.parts != nil {
		c.parts.Forget()
	}
}

// Know says that all computed values of a stream are bound to it. Of another stream of its schema, whose
// values may be others, it has none.
func (c *Cache) Know(stream *event.Stream) {
	if c.complete == nil {
		c.complete = map[int]bool{}
	}
	c.complete[stream.Index] = true
}

// Bind makes a computed value an attribute of events. Where two streams of one
// schema compute it differently and which of them an event is of is not known,
// the name is not known either.
func (c *Cache) Bind(of Of, name string, node expr.Node) {
	byName := c.vars[of]
	if byName == nil {
		if c.vars == nil {
			c.vars = map[Of]map[string]*expr.Program{}
		}
		byName = map[string]*expr.Program{}
		c.vars[of] = byName
	}
	have, ok := byName[name]
	switch {
	case !ok:
		byName[name] = expr.Build(node)
	case have == nil:
	case have.Node == node || !have.IsInterpreted() && have.Node.String() == node.String():
	default:
		byName[name] = nil
	}
}
