package expr_test

import (
	. "ppscript/runtime/expr"
	"ppscript/runtime/expr/exprtest"
)

var (
	testSchema = exprtest.Schema
	testEvent  = exprtest.Event
	testScope  = exprtest.Scope
	setField   = exprtest.SetField
)

func boolToInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func newFloat(v float64) Node { return &Const{T: TFloat, Float: v} }
