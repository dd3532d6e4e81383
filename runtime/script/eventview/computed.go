package eventview

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file makes computed values (let) readable as attributes.

// Of identifies the events for which a computed value is bound: the events of
// one stream, by its index plus 1, or all events of a schema, for parts of
// pairs.
type Of struct {
	Stream int
	Schema *event.Schema
}

// Forget removes all computed values.
func (c *Cache) Forget() {
	c.vars, c.all, c.stream, c.complete = nil, nil, nil, nil
	if c.parts != nil {
		c.parts.Forget()
	}
}

// Know says that all computed values of a stream are bound to that stream, so that values bound to
// its schema do not apply to it.
func (c *Cache) Know(stream *event.Stream) {
	if c.complete == nil {
		c.complete = map[int]bool{}
	}
	c.complete[stream.Index] = true
}

// Bind makes a computed value an attribute of events. If two streams of one
// schema compute it differently and the stream of an event is unknown, the
// event does not have the attribute.
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
