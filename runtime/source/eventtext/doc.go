// Package eventtext converts a text that describes events to a recording. With
// it, tests of scripts describe events in a few lines, and the script reads
// them like any other recording.
//
//	sched:sched_switch prev_pid:s32 next_pid:s32 prev_comm:str
//	block:block_rq_issue dev:u32 bytes:u32 cmd:dstr args:u64[2]
//	1us   0 bash/10    sched_switch prev_pid=10 next_pid=20 prev_comm=bash
//	2.5us 0 dd/20/21   block_rq_issue bytes=4096 cmd="W S" args=1,2
//	3us   1 lost 7
//
// A line with a colon in its first word declares an event: its name and its fields,
// each of type s8 to s64, u8 to u64, ns (a duration), str (16 bytes), strN (N bytes),
// dstr (a text of variable length), or an array, u64[6]. Another line is an event: the
// time, the CPU, the thread, the event's name (which may be left out if only one is
// declared, and needs its system only if two share it) and its fields; fields that are
// not given are zero. The thread is a number, COMM/TID, or COMM/PID/TID. The word
// "lost" and a number stand for events lost in a CPU's ring. Empty lines and lines
// that begin with # are ignored. The lines may be in any order; the events are sorted
// by time.
//
// The result is a perf.data file, which package perfdata reads. cmd/ppscript
// makes it for --input and for tests.
package eventtext
