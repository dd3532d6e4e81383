// Package symbol turns addresses into names.
//
// Kernel holds /proc/kallsyms, or the copy of it that came with a recording,
// with modules and BPF programs. Renderers of print formats (%pS), the
// expression builtin ksym and scripts that look for the address of a function
// ask it.
//
// A Symbolizer names user addresses too: runtime/target/task tells which file was
// mapped there at the time, and the functions are read from its symbol table,
// the separate debug file, MiniDebugInfo, Go's own table, or the map of a JIT
// compiler. It is asked at the end of a run or an interval, and answers each
// distinct address once; nothing here runs per event.
//
//	syms := symbol.New(symbol.Options{Kernel: kernel, Maps: maps})
//	for i, addr := range callchain {
//		frames := syms.Resolve(pid, tid, addr, when)
//	}
//
// Functions goes the other way: it lists the functions of a file by all their
// names, for placing probes. FileSymbols finds them.
//
// No file is opened before it is asked for. A file that is missing, stripped
// or damaged makes frames without names, not errors.
package symbol
