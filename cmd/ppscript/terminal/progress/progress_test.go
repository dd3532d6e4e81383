package progress

import (
	"strings"
	"testing"
	"time"
)

func TestText(t *testing.T) {
	f := func(step step, done, all uint64, took time.Duration, want string) {
		t.Helper()
		if got := text(step, done, all, took); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(reading, 1<<30, 4<<30, 4*time.Second, "reading: 1.0 GiB of 4.0 GiB (25%), 256.0 MiB/s, 12s left")
	f(reading, 4<<30, 4<<30, 4*time.Second, "reading: 4.0 GiB of 4.0 GiB (100%), 1.0 GiB/s")
	// Of a pipe nobody knows the length; it may bring nothing.
	f(reading, 3<<20, 0, 2*time.Second, "reading: 3.0 MiB, 1.5 MiB/s")
	f(reading, 0, 100, 2*time.Second, "reading: 0 B of 100 B (0%), 0 B/s")
	f(closing, 80, 720, 2*time.Second, "closing: 80 events of 720 events (11%), 40 events/s, 16s left")
	f(naming, 99, 100, 2*time.Second, "naming functions: 99 stacks of 100 stacks (99%), 49 stacks/s, 1s left")
}

func TestLine(t *testing.T) {
	var out strings.Builder
	now := time.Unix(100, 0)
	l := &Line{w: &out, width: func() int { return 80 }}
	l.now = func() time.Time { return now }
	f := func(after time.Duration, tell func(), want string) {
		t.Helper()
		now = now.Add(after)
		out.Reset()
		if tell(); out.String() != want {
			t.Errorf("after %v: got %q, want %q", after, out.String(), want)
		}
	}
	at := func(step step, done uint64) func() { return func() { l.at(step, done, 100) } }
	clear := "\r\x1b[K"
	f(0, at(naming, 0), "")
	f(900*time.Millisecond, at(naming, 10), "")
	f(100*time.Millisecond, at(naming, 10),
		clear+"naming functions: 10 stacks of 100 stacks (10%), 10 stacks/s, 9s left")
	// It does not flicker.
	f(100*time.Millisecond, at(naming, 11), "")
	f(100*time.Millisecond, at(naming, 12),
		clear+"naming functions: 12 stacks of 100 stacks (12%), 10 stacks/s, 9s left")
	// It vanishes in front of what is printed, once.
	w := l.Before(&out)
	f(0, func() { w.Write([]byte("row\n")) }, clear+"row\n")
	f(0, func() { w.Write([]byte("row\n")) }, "row\n")
	// A run that has printed nothing tells what it waits for, in one row, until something is printed.
	l.Waiting(10 * time.Second)("sched:sched_switch")
	wait := func(events string) func() { return func() { l.wait(events, 10*time.Second) } }
	f(3*time.Second, wait("sched:sched_switch"), clear+"observing sched:sched_switch: 3s of 10s")
	f(time.Second, wait(strings.Repeat("x", 80)), clear+"observing events: 4s of 10s")
	f(0, func() { w.Write([]byte("row\n")) }, clear+"row\n")
	f(time.Second, wait("sched:sched_switch"), "")
	// Another step has a second of its own.
	f(time.Hour, at(reading, 1), "")

	var none *Line
	none.Read(1, 2)
	none.Clear()
	f(0, func() { none.Before(&out).Write([]byte("row\n")) }, "row\n")
}
