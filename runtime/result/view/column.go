package view

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// This file makes the columns of a table from the functions that compute their
// values: their widths, and the units of times and sizes.

// KeyColumn makes the column of a key that a function computes.
func (p *Prints) KeyColumn(name string, fn *flow.Fn) result.Column {
	prog := p.printedProgram(fn)
	c := result.Column{
		Name:  name,
		Kind:  result.KeyColumn,
		Prec:  result.UnitPrec,
		Width: 6,
		Left:  prog.Type.Kind == expr.Str || prog.Type.Kind == expr.Any,
		Unit:  UnitOf(prog),
		Hex:   p.addresses(p.Nodes(fn)),
	}
	if prog.Type.Kind == expr.Str {
		c.Width = 16
	}
	if prog.IsStack() {
		c.Type, c.Left, c.Width = result.StackNumbers, true, 0
	}
	return c
}

// AggColumn makes the column of an aggregator over the values of a function; the
// function is nil if the aggregator only counts.
func (p *Prints) AggColumn(name string, op *agg.Op, of *flow.Fn) result.Column {
	c := result.Column{Name: name, Prec: result.UnitPrec, Width: op.Column.Width,
		Merging: op.Column.Merging}
	if op.Column.Plain || of == nil {
		return c
	}
	prog := p.printedProgram(of)
	c.Left = !op.Numeric && !prog.Type.Numeric() && prog.Type.Kind != expr.Float
	if prog.IsStack() && op.Column.Stacks {
		c.Type, c.Left, c.Width = result.StackNumbers, true, 0
	}
	c.Unit = UnitOf(prog)
	// The cells of top are pairs of a value and a count.
	c.Hex = op.Column.Values && op != agg.Top && p.addresses(p.Nodes(of))
	return c
}

// printedProgram returns a program of a function, for the type of its values. An interpreted
// function that could be compiled counts as compiled here.
func (p *Prints) printedProgram(fn *flow.Fn) *expr.Program {
	prog := fn.Any()
	if n := p.NodeOf(prog); n != nil && n != prog.Node {
		return expr.Build(n)
	}
	return prog
}

// UnitOf returns the unit in which the values of p are shown.
func UnitOf(p *expr.Program) unit.Unit {
	switch expr.UnitOf(p.Node) {
	case event.Nanos:
		return unit.US
	case event.SizeB:
		return unit.Bytes
	}
	return unit.Unit{}
}
