package oracle

import (
	"fmt"
	"slices"
	"testing"

	"ppscript/tests/testkit"
)

// replaySilences compares the times in which threads made no system call with the
// times between perf script's lines.
func replaySilences(t *testing.T, file string, lines []line) {
	than := longerThan(t, lines, 10)
	out := testkit.Run(t, testkit.PPScript(t), "--input", file, "--format", "json", "-c",
		fmt.Sprintf("tracepoint(%q).silences(\"tid\", than = %d * ns)", enter, than)).Want(t, 0)
	table := last(t, out.Stdout)
	noLoss(t, table)
	var got, want []string
	for _, r := range table.Rows {
		got = append(got, fmt.Sprintf("%d at %d for %d, ended %v", r.Int(t, "tid"), r.Int(t, "since"),
			r.Int(t, "silent"), r["ended"]))
	}

	before, end := map[int]int64{}, int64(0)
	add := func(tid int, to int64, ended string) {
		if from := before[tid]; to-from > than {
			want = append(want, fmt.Sprintf("%d at %d for %d, ended %s", tid, from, to-from, ended))
		}
	}
	for _, l := range lines {
		if l.event != enter {
			continue
		}
		end = l.time // of the last event that the script reads
		if _, known := before[l.tid]; known {
			add(l.tid, l.time, "yes")
		}
		before[l.tid] = l.time
	}
	for tid := range before {
		add(tid, end, "no")
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || len(want) < 5 {
		t.Errorf("got %d silences, want %d:\n%q\nwant\n%q", len(got), len(want), got, want)
	}
}

// longerThan returns a time that n silences between the system calls of threads exceed, or
// fewer if some have equal lengths: the lengths depend on the machine.
func longerThan(t *testing.T, lines []line, n int) int64 {
	var gaps []int64
	before := map[int]int64{}
	for _, l := range lines {
		if l.event != enter {
			continue
		}
		if from, known := before[l.tid]; known {
			gaps = append(gaps, l.time-from)
		}
		before[l.tid] = l.time
	}
	if len(gaps) <= n {
		t.Fatalf("got %d times between system calls, want more than %d", len(gaps), n)
	}
	slices.Sort(gaps)
	return gaps[len(gaps)-1-n]
}
