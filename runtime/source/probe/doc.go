// Package probe finds the addresses of dynamic probes and breakpoints, and
// describes their events. A probe is an instruction at which the kernel makes
// an event: in the kernel (kprobe), in a program (uprobe), or at a place that
// the program's author marked (USDT). A breakpoint makes an event at each
// access to some bytes of memory.
//
// A Resolver converts a Spec (a function of a file, a USDT probe, an address)
// to Probes: the attributes for perf_event_open, and the schema of the samples.
// Package session opens them through perf's kprobe and uprobe PMUs, so nothing
// remains in tracefs, even if the process is killed. Only the Definitions of
// "usdt add" are written to tracefs.
//
// The records of these PMUs have no arguments of functions. The arguments are
// computed from sampled registers, by the calling convention (see convention)
// or by the operands of a USDT note. The memory at a pointer is read from the
// process when the event is processed, a moment after it happened.
//
// The package opens no events.
package probe
