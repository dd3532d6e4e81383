package oracle

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ppscript/tests/testkit"
)

// One of N hits of a tracepoint is an event, for programs and for perf's events; its period is N.
// perf record -c makes the kernel send each hit of a tracepoint, because it requests their
// periods, but perf reads the samples of ppscript record.
func TestSampledTracepointsAreOneOfSoMany(t *testing.T) {
	live(t, testkit.Perf)
	const hits, period = 3005, 10
	load := []string{"--", testkit.Load(t), "-getppid", strconv.Itoa(hits)}
	filter := fmt.Sprintf("id == %d", syscall.SYS_GETPPID)
	file := filepath.Join(t.TempDir(), "perf.data")
	// The kernel counts the hits of each thread on each CPU separately: a thread that moves
	// leaves an incomplete count behind.
	testkit.Again(t, func() (wrong []string) {
		testkit.Run(t, append([]string{testkit.PPScript(t), "record", "-e",
			"raw_syscalls:sys_enter/" + filter + "/", "-c", strconv.Itoa(period), "-o", file},
			load...)...).Want(t, 0)
		if n := len(perfScript(t, file)); n != hits/period {
			wrong = append(wrong, fmt.Sprintf("perf script: got %d lines, want %d", n, hits/period))
		}
		return wrong
	})
	program := fmt.Sprintf(`event(%q).agg(n = agg.count(), sum = agg.sum("period"))`,
		fmt.Sprintf("raw_syscalls:sys_enter/%s/period=%d/", filter, period))
	for name, args := range map[string][]string{
		"bpf":       append([]string{"--engine", "bpf"}, load...),
		"perf":      append([]string{"--engine", "perf"}, load...),
		"recording": {"--input", file},
	} {
		testkit.Again(t, func() (wrong []string) {
			out := testkit.Run(t, append([]string{testkit.PPScript(t), "--format", "json", "-c", program},
				args...)...).Want(t, 0)
			rows := testkit.Tables(t, out.Stdout)[0].Rows
			want := fmt.Sprintf("%d %d", hits/period, hits/period*period)
			if got := fmt.Sprint(rows[0].Int(t, "n"), rows[0].Int(t, "sum")); got != want {
				wrong = append(wrong, fmt.Sprintf("%s: got %s, want %s", name, got, want))
			}
			return wrong
		})
	}
	// With a frequency, the kernel adapts the period to the rate of events.
	often := fmt.Sprintf(`tracepoint("raw_syscalls:sys_enter", %q, freq = 100).count()`, filter)
	out := testkit.Run(t, append([]string{testkit.PPScript(t), "--format", "json", "-c", often}, load...)...)
	rows := testkit.Tables(t, out.Want(t, 0).Stdout)[0].Rows
	if n := rows[0].Int(t, "count"); n < 1 || n >= hits {
		t.Errorf("got %d events, want some of %d", n, hits)
	}
	explained := testkit.Run(t, testkit.PPScript(t), "explain", "-c", often).Want(t, 0).Stdout
	if !strings.Contains(explained, "100 times a second") ||
		!strings.Contains(explained, "sys_enter is sampled") {
		t.Errorf("got %s, want that the kernel samples it, and no program", explained)
	}
}
