// Package why explains where the time of a span went, from the events around it. A span
// is a period of a thread, such as a slow system call. Each nanosecond of it gets one
// cause.
//
//	x := why.New(why.Config{})
//	told := x.Explain(why.Span{From: t0, To: t1, TID: 4711}, why.History{Events: events})
//
// A thread runs, waits for a CPU, or is blocked. A running thread is in its program, a system
// call or a page fault, except for the time that interrupts of its CPU take. A thread that
// waits for a CPU is behind the thread that has that CPU at the time. A blocked thread waits
// for its waker: if an interrupt wakes it, the cause is the disk, packet or timer of the
// interrupt; if another thread wakes it, the explanation continues with the activity of that
// thread during the wait.
//
// The package reads events and opens nothing. It never guesses: if a missing event could
// change the cause, the cause is unknown, with the reason. An event may be missing because
// it was lost (Gap), came before the history (Since), or is not observed (Missing).
//
// Sessions use it for slow spans, through package slowspan; a Sum adds up the
// explanations. The history of a span are the events before and during it. An event is
// "unseen" in the code if it must have happened but was not observed.
package why
