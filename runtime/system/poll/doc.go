// Package poll waits for perf rings and for the end of tasks, and lets the thread that waits
// sleep while nothing happens.
//
// A ring wakes its reader when it is half full, so that a busy ring wakes it
// rarely. A lone event therefore has to be looked for: ten times a second. For a
// target that does nothing that is ten wake-ups a second for nothing, and Go's
// runtime adds some of its own to each.
//
// So after a few looks that found nothing, each event gets a bell: the same event
// once more, without any data, in a small ring that wakes with each record. The
// next event rings it, the bells are switched off, and the reader looks as often
// as before. Switched-off events cost nothing: the kernel takes them out of its
// lists. One that rings too fast to be switched off in time fills its ring, and is
// silent.
//
// Events that cannot be opened twice, since the CPU has few of them, and those of
// which not each occurrence makes a sample, have no bell of their own. If they are a
// thread's, they can only come when it runs: what rings is that it is switched out,
// or has run for a while.
package poll
