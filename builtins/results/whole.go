package results

import (
	b "ppscript/builtins"
	"ppscript/runtime/result/view"
	"ppscript/runtime/text/unit"

	"go.starlark.net/starlark"
)

func whole() *b.Builtin {
	return &b.Builtin{
		Name:    "whole",
		Type:    "table",
		Group:   b.Results,
		Summary: "Keeps each slot of time whole, within one interval.",
		Params: []b.Param{
			{Name: "column", Type: b.String, Required: true, Doc: "the key that is the number of the slot: _time / period"},
			{Name: "period", Type: b.Duration, Required: true, Unit: "ns", Doc: "how long a slot is"},
		},
		Returns: "table",
		Result:  "the rows of a slot in which an interval ends are shown, complete, with the next interval",
		Errors:  "the column is no key; an aggregator is neither count nor sum",
		Source:  computed,
		Cost:    perRow,
		Examples: []b.Example{{
			Code:   `tracepoint("sched:sched_switch").by(slot = "(long)_time / 100000000").count().whole("slot", 100 * ms)`,
			Output: "<table of slot, count>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			if err := hasColumn(c, "column", c.String("column")); err != nil {
				return nil, err
			}
			period := c.Duration("period")
			if period <= 0 {
				return nil, c.Errorf("period", "got %s, want more than 0", unit.Duration(period))
			}
			return change(c, func(v *view.View) error {
				v.Whole = &view.Whole{Column: c.String("column"), Period: period}
				return nil
			})
		},
	}
}
