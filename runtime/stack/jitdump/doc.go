// Package jitdump reads the files in which compilers tell of the code that they make at run time:
// jit-PID.dump, as perf's interface for them defines it (tools/perf/Documentation/jitdump-specification.txt).
//
// Such a file has a record for each function, with the time: its name and where its code was put, where
// it was moved to, and which source lines it is of. A place is used again when code is given up, so
// that an address has a name at a time, not a name.
//
// A Dump reads on where it stopped, so that it follows a process that is still writing. It keeps no
// code. A program that wants its file to be found maps it, executable, which is in the records of
// mappings and in /proc/PID/maps: IsMarker tells such a mapping by its name. Package symbol asks.
package jitdump
