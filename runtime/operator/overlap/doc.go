// Package overlap splits spans of time by others: a system call by the times in which
// its thread was off the CPU. Spans are pairs of a join, or what a fold emits with a
// begin. Plan builds a Splitter, flow feeds it both kinds of spans in time order, and the
// parts flow on as events.
//
// The parts of a span sum to it, to the nanosecond. Where several spans overlap it at a
// time, the innermost counts: the one that began last. What none overlaps is a part of its
// own, the rest.
//
// What is split is known when it ends; so the spans over it must be known from its begin
// on. They are kept for as long as a span that is to be split is open under their key.
// Those that are still open at its end count up to there: joins and folds tell of begins
// (flow.Opens).
//
// A part that nobody can tell is unknown, and never another: where events were lost,
// until something tells the state of the key; where a bound was hit; and where a span ends
// whose begin was before the trace. That of a span which began before the trace, and ends
// later than what is split, is not known of at all.
package overlap
