package cexpr

import "ppscript/runtime/expr/exprtest"

var (
	testEvent = exprtest.Event
	testScope = exprtest.Scope
	setField  = exprtest.SetField
)
