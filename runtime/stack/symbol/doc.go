// Package symbol converts addresses to names.
//
// Kernel has the symbols of /proc/kallsyms, or of a recording's copy of it,
// including modules and BPF programs. It is used for print formats (%pS), the
// builtin ksym of expressions, and scripts that need the address of a function.
//
// A Symbolizer also names user addresses: runtime/target/task finds the file that
// was mapped there at the time, and the functions are read from its symbol table,
// the separate debug file, MiniDebugInfo, Go's own table, or the map of a JIT
// compiler. It is used at the end of a run or an interval, and names each
// distinct address once; nothing here runs per event.
//
//	syms := symbol.New(symbol.Options{Kernel: kernel, Maps: maps})
//	for i, addr := range callchain {
//		frames := syms.Resolve(pid, tid, addr, when)
//	}
//
// Functions works the other way: it lists the functions of a file with all
// their names, for placing probes. FileSymbols finds functions by name.
//
// No file is opened before it is needed. A missing, stripped or damaged file
// gives frames without names, not errors.
package symbol
