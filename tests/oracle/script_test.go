package oracle

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// This file reads what perf script prints.

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A line is one event of perf script.
type line struct {
	comm  string
	tid   int
	cpu   int
	time  int64 // ns
	event string
	text  string
}

var scriptLine = regexp.MustCompile(`(?m)^ *(.*?) +(-?\d+)/(-?\d+) +\[(\d+)\] +(\d+)\.(\d{9}): +([^ ]+): ?(.*)$`)

// perfScript returns all events of a recording, as perf itself reads it.
func perfScript(t *testing.T, file string) []line {
	t.Helper()
	out := testkit.Run(t, "perf", "script", "-i", file, "--ns", "-F", "comm,pid,tid,cpu,time,event,trace").Want(t, 0)
	var lines []line
	for _, m := range scriptLine.FindAllStringSubmatch(out.Stdout, -1) {
		n := func(i int) int64 {
			v, err := strconv.ParseInt(m[i], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		lines = append(lines, line{m[1], int(n(3)), int(n(4)), n(5)*1e9 + n(6), m[7], strings.TrimSpace(m[8])})
	}
	if all := strings.Count(out.Stdout, "\n"); len(lines) != all || all == 0 {
		t.Fatalf("perf script: understood %d lines of %d", len(lines), all)
	}
	return lines
}

var number = regexp.MustCompile(`-?\d+`)

// syscallNR is the number of the system call in the text of a raw_syscalls
// event, "NR 110 (...)" or "NR 110 = 5", and what it returned.
func syscallNR(t *testing.T, l line) (nr, ret int64) {
	t.Helper()
	words := number.FindAllString(l.text, 2)
	if !strings.HasPrefix(l.text, "NR ") || len(words) == 0 {
		t.Fatalf("got %q, want a system call", l.text)
	}
	nr, _ = strconv.ParseInt(words[0], 10, 64)
	if l.event == leave && len(words) == 2 {
		ret, _ = strconv.ParseInt(words[1], 10, 64)
	}
	return nr, ret
}

// after is the number that follows a word like "bytes_alloc=".
func after(t *testing.T, text, word string) int64 {
	t.Helper()
	_, rest, ok := strings.Cut(text, word)
	n, err := strconv.ParseInt(number.FindString(rest), 10, 64)
	if !ok || err != nil {
		t.Fatalf("no %s in %q", word, text)
	}
	return n
}
