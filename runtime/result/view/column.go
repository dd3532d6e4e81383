package view

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// This file makes columns of what their values are computed by: how wide they
// are, and in which unit times and sizes are shown.

// KeyColumn is the column of a key that p computes.
func KeyColumn(name string, p *expr.Program) result.Column {
	c := result.Column{
		Name:  name,
		Kind:  result.KeyColumn,
		Prec:  result.UnitPrec,
		Width: 6,
		Left:  p.Type.Kind == expr.Str || p.Type.Kind == expr.Any,
		Unit:  UnitOf(p),
		Hex:   expr.UnitOf(p.Node) == event.AddressU,
	}
	if p.Type.Kind == expr.Str {
		c.Width = 16
	}
	if p.IsStack() {
		c.Type, c.Left, c.Width = result.StackNumbers, true, 0
	}
	return c
}

// AggColumn is the column of an aggregator over the values of a function, nil if
// it only counts.
func AggColumn(name string, op *agg.Op, of *flow.Fn) result.Column {
	c := result.Column{Name: name, Prec: result.UnitPrec, Width: op.Column.Width,
		Merging: op.Column.Merging}
	if op.Column.Plain || of == nil {
		return c
	}
	p := of.Any()
	c.Left = !op.Numeric && !p.Type.Numeric() && p.Type.Kind != expr.Float
	if p.IsStack() && op.Column.Stacks {
		c.Type, c.Left, c.Width = result.StackNumbers, true, 0
	}
	c.Unit = UnitOf(p)
	return c
}

// UnitOf is the unit in which the values of p are shown.
func UnitOf(p *expr.Program) unit.Unit {
	switch expr.UnitOf(p.Node) {
	case event.Nanos:
		return unit.US
	case event.SizeB:
		return unit.Bytes
	}
	return unit.Unit{}
}
