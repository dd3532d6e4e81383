package cexpr

import "ppscript/runtime/expr/exprtest"

var (
	testSchema = exprtest.Schema
	testEvent  = exprtest.Event
	testScope  = exprtest.Scope
	setField   = exprtest.SetField
)
