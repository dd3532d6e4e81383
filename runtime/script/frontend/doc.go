// Package frontend prepares functions of scripts that run once per event.
//
// A Func is one such function. It is checked (Check), and translated to the IR
// of package expr if that certainly gives the same results (Lower). Otherwise it
// runs as closures over Starlark values (package direct), at about ten times the
// cost, or in the interpreter, at about thirty times. A Machine has the
// functions of a fold, and finds the types of its state and emitted fields. A
// Native says how calls of a builtin are translated.
//
// Package builtins makes Funcs and Machines, and plan uses them; this package
// opens nothing. Each Func has its own Starlark thread: different Funcs may run
// on different goroutines, but one Func only on one at a time.
package frontend
