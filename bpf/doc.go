// Package bpf runs a plan's per-event work inside the kernel: it generates
// eBPF programs from expr's IR with an assembler of our own (no C, no compiler
// on any machine). It opens nothing.
//
// Generate turns a Part of a plan, whose operators it reads as they are, into
// programs; Can answers whether it could, and makes none. A Refusal says what is in
// the way. Package load brings the Image into the kernel and reads it; session calls
// both.
//
//	Part ──Generate──► Image ──load.Open──► Run ──Rows──► agg.Partial ──► agg.Group
//
// Generate is made of types that see no more than they need. From below:
//
//	code     instructions, labels, the stack of one program
//	text     texts on the stack: what is done with their bytes
//	chain    has call stacks, outbox sends records, tracker keeps the target's processes,
//	         calltext texts of a call from its begin to its end, waiting what waits for a partner
//	hook     the event that calls the program, its context, and the sample
//	         members, fetched once, with the checks of the target
//	env      which fields lie on the stack, and the room that texts need
//	eval     expressions: numbers, texts, statements; package eval has what needs no event
//	gate     predicates in front of an operator, and the counters
//	joiner, folder, grouper, sender
//	         one for each kind of operator
//	gen      the program, which brings its event to them
//
// A program treats an event as the native engine does: the same rounding, the
// same buckets, the same errors. An evaluation that fails (division by zero,
// overflow) drops the event from its operator and counts as
// event.Loss.Errors.
//
// Programs on tracepoints always return 1: one that returns 0 hides the hit from
// every other user of perf events on the machine. Those of sampled events return
// 0, which drops the sample of this event alone, that nobody reads; or, where
// they decide about samples (SampleFilter), 1 for those to keep.
package bpf
