// Package script is the Starlark host: it loads script files and their
// modules, runs them under limits, and turns whatever goes wrong into errors
// that point at the script's own line.
//
// Only this package and builtins know go.starlark.net. A Host is made by
// cmd/ppscript with the names that scripts see (builtins) and the embedded
// stdlib; a plan asks it for per-event functions (Func) and for the syntax
// trees that lowering to expr starts from. The package opens no event and
// knows no source.
//
// # The dialect
//
// Scripts are Starlark with if, for and while at top level, reassignment of
// globals while the file loads, and sets. Recursion is rejected: a function
// that calls itself can be neither inlined nor lowered, and while covers the
// rest. A file's globals are frozen when it has been loaded; what has to
// change later lives in state().
//
// # Per-event functions
//
// A Func is checked (Check), translated to expr IR if that is certain to give
// the same results (Lower), and else called by the interpreter (Call), at
// about ten times the cost.
//
// # Threads
//
// A Host loads and calls from one goroutine at a time. Each Func has a thread
// of its own, so that different Funcs may run on different goroutines; one
// Func may not. Cancel may be called from any goroutine.
package script
