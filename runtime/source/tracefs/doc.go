// Package tracefs knows the kernel's tracepoints: which there are, how their
// records are laid out, and how the kernel prints them.
//
// The door is an FS: Find for this machine's tracefs; Known for that or, where
// it may not be read, formats that are shipped. FS.Schema reads one event's format file; ParseFormat
// does the same for a copy of that file, as perf.data carries it. Both give
// an event.Schema whose Text renders a record exactly as the kernel does in
// its trace file, by evaluating the event's own print fmt (see printer.go).
//
// The package opens no events and writes nothing, except that Find mounts
// tracefs where that is allowed and it is not mounted yet. Probe definitions
// (kprobe_events, uprobe_events) are not its job.
package tracefs
