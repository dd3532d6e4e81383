package main

import (
	"regexp"
	"strings"
	"testing"

	"ppscript/tests/testkit"

	"golang.org/x/sys/unix"
)

// stat shows events in columns beside each other if the terminal is wide enough.
func TestStatPacksOnATerminal(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	m := openTerminal(t, nil, "stat", "-e", "sched:sched_switch,sched:sched_wakeup//alias=woken/", "-C", "0",
		"--perins", "-i", "100ms", "--period", "50ms")
	m.expect("[CPU] |sched_switch")
	if header := m.expect("\r\n"); !regexp.MustCompile(`^ *\|woken *\|$`).MatchString(header) {
		t.Errorf("header: got %q behind the first event, want the second and nothing else", header)
	}
	if row := m.expect("\r\n"); !regexp.MustCompile(`^\[000\] (\|\d+( +\d+)* *){2}\|$`).MatchString(row) {
		t.Errorf("row: got %q, want the numbers of each event", row)
	}
	if err := unix.IoctlSetWinsize(int(m.ptm.Fd()), unix.TIOCSWINSZ,
		&unix.Winsize{Row: 50, Col: 15}); err != nil {
		t.Fatal(err)
	}
	m.expect("[000] sched:sched_switch ")
	if line := m.expect("\r\n"); !regexp.MustCompile(`^ *\d+(\| *\d+)*( \| total \d+)?$`).
		MatchString(strings.TrimSpace(line)) {
		t.Errorf("line: got %q, want the counts and their sum", line)
	}
}
