// Package timeline converts events to items on a time axis, for files that timeline
// viewers such as Perfetto show. A track is a horizontal line of the viewer, such as a
// thread. Items are slices (with begin and end), instants, samples with stacks,
// switches between threads, wake-ups and counters, each on a track. A flow is an arrow
// from one item to another. Results of an interval are in package result.
//
// A Builder makes Items from events; a Writer writes them in a format. Package session
// passes all events of a plan to the Builder in time order. Builders and Writers keep
// no events, and their state for threads, keys and wake-ups is bounded, so that a
// timeline of any length needs constant memory.
//
// How events become items:
//
//	sched_switch                  Switch, on its CPU
//	sched_waking, sched_wakeup    Wakeup on the waker's thread, and a flow from there to
//	                              the instant at which the thread gets its CPU
//	samples of clocks, counters   Sample on the thread, with the stack
//	pairs                         Slice on the thread if both events are of one thread, or
//	                              are scheduling events and their key is a thread; else on
//	                              a track of the key
//	nested calls                  Slice, nested
//	events of folds               Slice that ends at the event, if exactly one field is a
//	                              duration; else an instant on the thread
//	other events                  Instant on the thread
//	tables of intervals           Counter for each number of a row
//	explained spans               Slice on the thread, slices of its causes below it, and a
//	                              flow to the activity of the thread that it waited for
//
// Slices that overlap are put on parallel tracks, so that slices of a track do not
// overlap and their times only grow.
package timeline
