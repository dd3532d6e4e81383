// Package eval generates the evaluation of expressions: numbers and their arithmetic, comparisons,
// texts that are made of others, look-ups, and reads of the kernel's memory. A value is left in R0,
// a text at a place of the stack; an evaluation that fails jumps to a label. Package bpf calls it;
// package text has the loops over bytes.
package eval
