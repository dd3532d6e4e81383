// Package arith generates the arithmetic of expressions that has no instruction: Python's,
// where results that do not fit 64 bits fail, and C's division of numbers with a sign.
//
// bpf calls it for operators of expressions. It knows nothing of events.
package arith
