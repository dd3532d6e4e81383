package main

import (
	"fmt"

	"ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/flow"
)

// This file measures the cost for each event of counting by fields, where no
// function of a script runs.

// groups measures all rows.
func (b *functionBench) groups(runs int) ([]timing, error) {
	var rows []timing
	for _, g := range []struct {
		name string
		keys []string
		max  float64
	}{
		{"count by a number", []string{"prev_pid"}, 0},
		{"count by a text", []string{"next_comm"}, 30},
		{"count by a text and a number", []string{"next_comm", "next_pid"}, 40},
	} {
		row, err := b.group(g.name, g.keys, runs)
		if err != nil {
			return nil, err
		}
		row.nativeMax = g.max
		rows = append(rows, row)
	}
	return rows, nil
}

func (b *functionBench) group(name string, keys []string, runs int) (timing, error) {
	spec := agg.Spec{Args: []agg.Arg{{}}, Aggs: []agg.Agg{{Op: agg.Count}}}
	for _, k := range keys {
		p, err := cexpr.Compile(k, b.scope)
		if err != nil {
			return timing{}, err
		}
		spec.Keys = append(spec.Keys, flow.NewFn([]*expr.Program{p}, 0))
	}
	g := agg.New(spec)
	chunks := 0
	row := timing{name: name, native: best(runs, func() { g.Events(b.events); chunks++ })}
	var counted int64
	for _, r := range g.Rows() {
		counted += r[len(keys)].Int()
	}
	if counted != int64(chunks*len(b.events)) {
		return row, fmt.Errorf("%s: counted %d of %d events", name, counted, chunks*len(b.events))
	}
	return row, nil
}
