// Package interpreter finds the functions of Python, Ruby and PHP in stacks, without any
// option or change of the program.
//
// A program of the kernel follows the interpreter's frames at each sample (package
// bpf/interpreted). It needs the offsets in the interpreter's structures, which a Walker gives it
// when a process maps an interpreter. The frames that the program stores are addresses of code
// objects. The Walker reads these objects from the process's memory soon after. Each frame has a
// check value of its object; if the object has changed since the sample, the frame has no name
// (Stats.Unknown).
//
//	w, err := interpreter.Open(host)
//	w.Observe(cfg.Events, i, stack) // an event that is sampled
//	w.Look(space)                   // when there is a process
//	chain, ok = w.Rewrite(dst, e, chain)
//	frames := w.Frame(number)       // of words of the chain, in stack.Interpreted
//
// In a stack, the frames replace the interpreter's own function: each call of it is replaced by
// the interpreted functions that ran in that call.
package interpreter
