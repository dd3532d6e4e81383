// Package direct runs script functions that stay interpreted, without the
// interpreter: a function becomes a tree of Go closures over Starlark's own
// values, which costs a third of a call of the interpreter.
//
// It knows only how functions succeed. Whatever it does not know, and every
// error, is a call that did not come off: the caller makes it again with the
// interpreter, whose outcome counts, with its message and its place. So that a
// call can be made twice, what a function may change lies in its own variables,
// or in a state that the caller can restore; functions that call anything with
// effects are not compiled.
//
// frontend makes Functions. Nothing here knows events; Hooks do.
package direct
