// Package jitdump reads the files in which JIT compilers describe the code that they make:
// jit-PID.dump, by perf's specification (tools/perf/Documentation/jitdump-specification.txt).
//
// Such a file has a record for each function, with the time: its name, the address of its code,
// later addresses if it was moved, and its source lines. Addresses are reused after code is freed,
// so the name of an address depends on the time.
//
// A Dump continues to read where it stopped, so that it follows a process that is still writing. It
// does not keep the code. A process maps its file as executable so that profilers find it, in
// mapping records or in /proc/PID/maps; IsMarker recognizes such a mapping by its name. Package
// symbol uses this package.
package jitdump
