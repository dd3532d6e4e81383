// Package interpreter tells which functions of Python, Ruby and PHP run in a stack, with no
// option and no change of the program.
//
// A program of the kernel follows the interpreter's frames at each sample (package bpf/interpreted); it
// has to know where the interpreter has what, which a Walker tells it as soon as it hears of a process
// that has one mapped. The frames that it leaves are addresses of code objects. A Walker reads these
// from the process's memory, soon after: an object that is no longer the one of the sample, by the
// check that came with the frame, has no name (Stats.Unknown).
//
//	w, err := interpreter.Open(host)
//	w.Observe(cfg.Events, i, stack) // an event that is sampled
//	w.Look(space)                   // when there is a process
//	chain, ok = w.Rewrite(dst, e, chain)
//	frames := w.Frame(number)       // of words of the chain, in stack.Interpreted
//
// In a stack the frames take the places of the interpreter's own function: as many as ran in one
// call of it.
package interpreter
