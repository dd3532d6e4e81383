// Package bpf runs a plan's per-event work inside the kernel: it generates
// eBPF programs from expr's IR with an assembler of our own (no C, no compiler
// on any machine). It opens nothing.
//
// Generate turns a Part of a plan into programs; Can answers whether it could, and
// makes none. A Refusal says what is in the way. Package load brings the Image into
// the kernel and reads it; session calls both.
//
//	Part ──Generate──► Image ──load.Open──► Run ──Rows──► agg.Partial ──► agg.Group
//
// Generate consists of these packages and types, each built on the ones above it:
//
//	load      programs and maps: what is loaded, and read while it runs
//	features  what this kernel can, and where it keeps things
//	hookcost  what programs cost beside their own time
//	assembler instructions, labels, the stack and the scratch memory of one program
//	hook      the event that calls the program, its context, and the sample
//	          members, fetched once, with the checks of the target
//	state     what programs keep between events
//	walk      call stacks, and the unwind tables that programs walk by
//	eval      expressions: numbers, texts, statements; which fields lie on the stack
//	outbox    records that are sent
//	gate      predicates in front of an operator, and the counters
//	joiner, folder, grouper, sender
//	          one for each kind of operator
//	gen       the program, which brings its event to them
//
// Package interpreted has programs of its own, which find out which functions of an interpreter
// run.
//
// A program treats an event as the native engine does: the same rounding, the
// same buckets, the same errors. An evaluation that fails (division by zero,
// overflow) drops the event from its operator and counts as
// event.Loss.Errors.
//
// Programs on tracepoints always return 1: a program that returns 0 hides the
// hit from every other user of perf events on the machine. Programs of sampled
// events return 0, which drops the sample of this event alone, since nobody
// reads it. The programs that SampleFilter generates return 1 for samples to
// keep.
package bpf
