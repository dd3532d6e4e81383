// Package eval generates the evaluation of expressions in a program: numbers and their arithmetic,
// truths, comparisons, texts, look-ups, reads of the kernel's memory, statements, and the states of
// folds. A number is left in R0, a text at a place of the stack; an evaluation that fails jumps to
// a label. An Env describes what an expression can read beside the event of the program (a pair,
// the state of a fold, an event that a fold emits) and where their fields are. An expression that
// cannot be evaluated in the kernel is refused.
//
// Package bpf calls it, for one program at a time. It passes no event on: events that a function of
// a fold emits go to the function that Run is given.
package eval
