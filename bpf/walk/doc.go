// Package walk generates how programs find call stacks and keep them (Stacks), and how they walk the
// stacks of user code by its unwind tables: code that was compiled without frame pointers has
// nothing else that leads to its callers. Package bpf calls both.
//
// It brings these tables to the programs, too. The session that loads the programs makes a Loader,
// which reads the tables of the processes that are observed, beside the run: of the processes that are known
// from the begin, and then of each that a program asks for. A program asks when it finds a process, or
// an address, that nothing is known of; until its tables are there, it follows frame pointers.
//
//	l, err := walk.Preload(run, walk.Observed{PIDs: pids})
//	...
//	told, err := l.End(false)
//
// A file is read once, however many processes map it. What is kept has a bound; code for which there
// is no room is walked by frame pointers, and LoaderStats says so.
package walk
