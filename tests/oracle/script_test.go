package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// This file parses perf script's output.

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

var scriptLine = regexp.MustCompile(
	`(?m)^ *(.*?) +(-?\d+)/(-?\d+) +\[(\d+)\] +(\d+)\.(\d{9}): +([^ ]+): ?(.*)$`)

// perfScript returns all events of a recording, as perf itself reads it. A
// recording with missing events cannot be an oracle.
func perfScript(t *testing.T, file string) []line {
	t.Helper()
	lines, lost := readPerfScript(t, file)
	if lost {
		t.Fatal("perf script: events were lost when they were recorded")
	}
	return lines
}

func readPerfScript(t *testing.T, file string) (lines []line, lost bool) {
	t.Helper()
	out := testkit.Run(t, "perf", "script", "-i", file, "--ns", "-F", "comm,pid,tid,cpu,time,event,trace")
	// perf fails because of symbols of BPF programs that other tracers load and
	// unload while it records.
	if out.Exit != 0 && strings.Contains(out.Stderr, "failed to process type: 17") {
		return nil, true
	}
	out.Want(t, 0)
	for _, m := range scriptLine.FindAllStringSubmatch(out.Stdout, -1) {
		n := func(i int) int64 {
			v, err := strconv.ParseInt(m[i], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		lines = append(lines, line{
			m[1], int(n(3)), int(n(4)), n(5)*1e9 + n(6), m[7], strings.TrimSpace(m[8]),
		})
	}
	if all := strings.Count(out.Stdout, "\n"); len(lines) != all || all == 0 {
		t.Fatalf("perf script: understood %d lines of %d", len(lines), all)
	}
	// "Processed 12 events and lost 3 chunks!"
	return lines, strings.Contains(out.Stderr, " lost ")
}

// perfRecord records with perf; options and command are what follows perf
// record. perf is no oracle if the kernel lost events, because it pairs the
// remaining ones: on a busy machine the rings must be larger, or the recording
// is repeated. Build-ids are left out, because perf keeps them in a directory
// that all its runs share, in which it fails.
func perfRecord(t *testing.T, args ...string) (file string, lines []line) {
	t.Helper()
	return perfRecordAs(t, []string{"perf", "record"}, args...)
}

// perfRecordAs is perfRecord with another command of perf that records.
func perfRecordAs(t *testing.T, recorder []string, args ...string) (file string, lines []line) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "perf.data")
	pages := 1024
	testkit.Again(t, func() []string {
		words := slices.Concat(recorder,
			[]string{"-q", "-B", "-N", "--no-bpf-event", "-m", strconv.Itoa(pages), "-o", file}, args)
		testkit.Run(t, words...).Want(t, 0)
		var lost bool
		if lines, lost = readPerfScript(t, file); !lost {
			keepIfFailed(t, file)
			return nil
		}
		wrong := fmt.Sprintf("%v: lost events with rings of %d pages", words, pages)
		pages = min(4*pages, 1<<14)
		return []string{wrong}
	})
	return file, lines
}

// keepIfFailed saves a recording that shows a fault, because the next one may
// not.
func keepIfFailed(t *testing.T, file string) {
	t.Helper()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		kept, err := os.CreateTemp("", "ppscript-"+strings.ReplaceAll(t.Name(), "/", "-")+"-*.data")
		if err != nil {
			t.Error(err)
			return
		}
		defer kept.Close()
		_, err = kept.WriteString(read(t, file))
		t.Logf("the recording is in %s (%v)", kept.Name(), err)
	})
}

// ofLoads is a filter for the switches to and from the load's threads, because
// other loads and programs run at the same time.
const ofLoads = `prev_comm ~ "load*" || next_comm ~ "load*" || prev_comm ~ "echo*" || next_comm ~ "echo*"`

// wakesLoads is a filter for the wake-ups of these threads.
const wakesLoads = `comm ~ "load*" || comm ~ "echo*"`

// recordLoads records events of loads with perf while one runs, on all CPUs or
// the CPUs in args. A filter follows its event.
func recordLoads(t *testing.T, args []string, load ...string) (file string, lines []line) {
	t.Helper()
	return perfRecord(t, append(append(append([]string{"-a"}, args...), "--", testkit.Load(t)), load...)...)
}

const forked = "sched:sched_process_fork"

// recordFamily is perfRecord of a command on all CPUs. It also returns the
// processes and threads of the command, including all that it started.
func recordFamily(t *testing.T, args []string,
	command ...string) (file string, lines []line, own map[string]bool) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "pid")
	wrapped := []string{"-a", "-e", forked, "--", "sh", "-c", `echo $$ >"$0"; exec "$@"`, root}
	file, all := perfRecord(t, append(append(args[:len(args):len(args)], wrapped...), command...)...)
	own = map[string]bool{strings.TrimSpace(read(t, root)): true}
	for _, l := range all {
		if l.event != forked {
			lines = append(lines, l)
		} else if own[between(l.text, " pid=", " ")] {
			own[between(l.text, "child_pid=", " ")] = true
		}
	}
	return file, lines, own
}

var number = regexp.MustCompile(`-?\d+`)

// syscallNR returns the number of the system call in the text of a raw_syscalls
// event, "NR 110 (...)" or "NR 110 = 5", and its result.
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

// after returns the number after a word like "bytes_alloc=".
func after(t *testing.T, text, word string) int64 {
	t.Helper()
	_, rest, ok := strings.Cut(text, word)
	n, err := strconv.ParseInt(number.FindString(rest), 10, 64)
	if !ok || err != nil {
		t.Fatalf("no %s in %q", word, text)
	}
	return n
}
