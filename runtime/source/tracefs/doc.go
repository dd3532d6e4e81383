// Package tracefs reads the descriptions of the kernel's tracepoints: the list
// of tracepoints, the layout of their records, and their print fmt, the format
// by which the kernel prints them.
//
// The main type is FS: Find returns this machine's tracefs; FindFormats returns the same or, if
// tracefs cannot be read, the formats of a similar kernel that are shipped with ppscript. FS.Schema
// parses one event's format file; ParseFormat parses a copy of that file from a recording. Both
// return an event.Schema whose Text renders a record exactly like the kernel in its trace file, by
// evaluating the event's print fmt (see printer.go).
//
// The package opens no events and changes nothing, except that Find mounts
// tracefs if it is not mounted and mounting is allowed. It does not define
// probes (kprobe_events, uprobe_events).
package tracefs
