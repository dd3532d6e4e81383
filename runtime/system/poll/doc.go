// Package poll waits for perf rings and for the end of tasks, and lets the waiting thread
// sleep while nothing happens.
//
// A ring wakes its reader when it is half full, so that a busy ring wakes it
// rarely. To find a single event, the reader has to look ten times a second. If
// the target does nothing, these wake-ups are useless, and Go's runtime adds
// some of its own to each.
//
// So after a few looks that found nothing, each event gets a bell: the same event
// opened once more, without any data, with a small ring that wakes its reader at
// each record. When the next event rings the bell, the bells are switched off, and
// the reader looks ten times a second again. Switched-off events cost nothing,
// since the kernel removes them from its lists. A bell that rings too fast to be
// switched off in time fills its ring, and is then silent.
//
// Some events have no bell: events that cannot be opened twice, since the CPU has
// few counters, and events of which not each occurrence makes a sample. If such an
// event is for a thread, it can only come while the thread runs. The thread then
// gets bells that ring when it is switched out, and when it has run for a while.
package poll
