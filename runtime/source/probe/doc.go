// Package probe finds where dynamic probes and breakpoints go, and describes
// the events that they make: kprobes, uprobes, USDT notes, Go functions,
// hardware breakpoints.
//
// A Resolver turns a Spec (a function of a file, a USDT probe, an address)
// into Probes: the attributes for perf_event_open, and the schema of the
// samples. Package session opens them through perf's own kprobe and uprobe
// PMUs, so nothing is left in tracefs, even if the process is killed. Only
// Definitions, which users keep with "usdt add", are written to tracefs.
//
// perf's PMUs carry no arguments. They are computed from sampled registers by
// the calling convention (see convention) or by the operands of a USDT note.
// The target of a pointer is read from the process when the event is looked
// at, a moment after it happened.
//
// The package opens no events.
package probe
