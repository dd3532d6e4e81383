// Package frontend makes a script's functions ready to run once per event.
//
// A Func is checked (Check), translated to expr IR if that is certain to give
// the same results (Lower), and else called as closures over Starlark's values
// (package direct), at about ten times the cost, or by the interpreter, at about
// thirty times. A Machine is the same for the step function of a
// fold, whose state and emitted fields get their types here. A Native is how a
// builtin takes part in the translation.
//
// builtins makes Funcs and Machines, plan asks them; the package opens nothing.
// Each Func has a thread of its own: different Funcs may run on different
// goroutines, one Func may not.
package frontend
