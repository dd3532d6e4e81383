// Package walk generates code that finds call stacks and keeps them (Stacks), and that walks the
// stacks of user code by its unwind tables: for code that was compiled without frame pointers
// nothing else leads to the callers. Package bpf calls both.
//
// It also loads these tables for the programs. The session that loads the programs makes a Loader,
// which reads the tables of the observed processes: first of the processes that are known from the
// begin, and during the run of each process that a program asks for. A program asks when it finds a
// process or an address without tables; until they are there, it follows frame pointers.
//
//	l, err := walk.Preload(run, walk.Observed{PIDs: pids})
//	...
//	told, err := l.End(false)
//
// A file is read once, however many processes map it. The memory for tables has a bound; code for
// which there is no room is walked by frame pointers, and LoaderStats counts it.
package walk
