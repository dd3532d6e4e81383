// Package why explains where the time of a span of a thread went, from the events around
// it: every nanosecond of it gets one cause.
//
//	x := why.New(why.Config{})
//	told := x.Explain(why.Span{From: t0, To: t1, TID: 4711}, why.History{Events: events})
//
// A thread runs, waits for a CPU, or is blocked. What runs is in its program, in a system
// call or a page fault, less what interrupts of its CPU took. What waits for a CPU is
// behind the thread that has that CPU meanwhile. A blocked thread waits for its waker: for an
// interrupt it is the disk, a packet or a timer that the interrupt was about; for another
// thread the explanation goes on there, with what that one did meanwhile.
//
// The package reads events and opens nothing. It never guesses: where an event that is not
// there could say otherwise, the cause is unknown, with the reason. An event that is not
// there was lost (Gap), came before the history (Since), or is not observed (Missing).
//
// The sessions of profilers call it for spans that were slow; Sum adds what it tells up.
package why
