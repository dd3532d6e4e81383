package plan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file finds which fields of the kernel a fold emits, at once or out of its
// state, so that what it emits is shown as these are.

// A carrier follows values through the functions of a fold.
type carrier struct {
	emitted map[string][]expr.Node // by name of what is emitted
	stored  map[int][]expr.Node    // by slot of the state
}

func newCarrier() *carrier {
	return &carrier{emitted: map[string][]expr.Node{}, stored: map[int][]expr.Node{}}
}

// see looks at one function.
func (c *carrier) see(n expr.Node) {
	expr.Walk(n, func(n expr.Node) bool {
		switch n := n.(type) {
		case *expr.Emit:
			for i, name := range n.Names {
				c.emitted[name] = append(c.emitted[name], n.Args[i])
			}
		case *expr.StoreState:
			if n.X.Type().Numeric() {
				c.stored[n.Slot] = append(c.stored[n.Slot], n.X)
			}
		}
		return true
	})
}

// sources are the nodes that a value comes from. A constant says nothing of what
// it is a value of: it is one of the others'.
func (c *carrier) sources(nodes []expr.Node) []expr.Node {
	var found []expr.Node
	for _, n := range nodes {
		from := []expr.Node{n}
		if l, ok := n.(*expr.LoadState); ok && l.Type().Numeric() {
			from = c.stored[l.Slot]
		}
		for _, n := range from {
			if _, ok := n.(*expr.Const); !ok {
				found = append(found, n)
			}
		}
	}
	return found
}

// nameEmitted settles how the fields of what a fold emits are shown.
func (n *foldOp) nameEmitted(b *builder, fields []event.Field) {
	c := newCarrier()
	n.spec.Step.Each(func(p *expr.Program) { c.see(b.nodeOf(p)) })
	if n.spec.Flush != nil {
		c.see(b.nodeOf(n.spec.Flush))
	}
	for i := range fields {
		if f := &fields[i]; f.Kind == event.Int {
			f.Shown = b.shownByAll(c.sources(c.emitted[f.Name]))
		}
	}
}
