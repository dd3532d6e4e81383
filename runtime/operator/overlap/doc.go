// Package overlap splits spans of time by others: a system call by the times in which its
// thread was off the CPU. Spans are pairs of a join, or emitted events of a fold with a
// begin. Plan builds a Splitter, flow feeds it both kinds of spans in time order, and the
// parts flow on as events.
//
// The parts of a span sum to it, to the nanosecond. Where several spans overlap it, the
// innermost counts: the one that began last. A time without any is a part of its own,
// called the rest.
//
// A span arrives when it ends, so the spans over it must be kept from its begin on. A span
// over others is kept as long as a span to be split is open with the same key. If it is
// still open when the span to be split ends, it counts up to that time; joins and folds
// report begins for this (flow.Opens).
//
// A part is unknown where events were lost, until a later event shows the state of the
// key; where a bound was hit; and where a span ends whose begin was before the trace. A
// span over another that began before the trace and ends after the split span is not
// noticed at all.
package overlap
