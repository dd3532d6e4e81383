// Package value has the quantities of scripts, Duration, Time and Size, and
// converts the runtime's values to Starlark's and back.
//
// builtins, runtime/script/option and runtime/script/frontend use it. It prints only single
// values; package unit has the formats of quantities.
package value
