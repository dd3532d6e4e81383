// Package eval generates the evaluation of expressions in a program: numbers and their arithmetic,
// truths, comparisons, texts, look-ups, reads of the kernel's memory, statements, and the states of
// folds. A number is left in R0, a text at a place of the stack; an evaluation that fails jumps to a
// label. An Env says what an expression is about beside the event of the program: a pair, the state of
// a fold, an event that a fold emits; and where their fields lie. What cannot be evaluated is refused.
//
// Package bpf calls it, for one program at a time. It brings no event anywhere: what a function of a
// fold emits goes to the function that Run is given.
package eval
