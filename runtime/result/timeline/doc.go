// Package timeline is what happened when, for programs that show it along a time axis:
// slices, instants, samples with stacks, switches between threads, wake-ups, counters,
// each on a track. Results of an interval are in package result.
//
// A Builder makes Items of events; a Writer writes them in some form. Session gives the
// Builder all events of a plan in time order. Builders and Writers keep no events, and
// what they remember of threads, keys and wake-ups has bounds: a timeline of any length
// takes constant memory.
//
// How events become items:
//
//	sched_switch                  Switch, on its CPU
//	sched_waking, sched_wakeup    Wakeup on the waker's thread, and a flow from there to
//	                              the instant at which the thread gets its CPU
//	samples of clocks, counters   Sample on the thread, with the stack
//	pairs                         Slice on the thread if both ends are of one, or if they
//	                              are scheduling events and their key is a thread; else on
//	                              a track of the key
//	calls in each other           Slice, nested
//	events of folds               Slice that ends when they do, if one of their fields is
//	                              a duration; an instant on the thread if not
//	other events                  Instant on the thread
//	tables of intervals           Counter for each number of a row
//	explained spans               Slice on the thread, those of its causes below it, and a
//	                              flow to what the thread did that was waited for
//
// Slices that overlap get tracks beside each other, so that on every track begin and end
// are balanced and times only grow.
package timeline
