package vm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// If any BPF program is attached to a tracepoint of a preemptible kernel, perf gets no events of it
// while a preempted thread is in a system call about a map: a run counts the events that it misses
// in this way as lost.
func TestEventsThatBPFHides(t *testing.T) {
	t.Parallel()
	files := map[string]string{"/w/ppscript": build(t, "amd64", "cmd/ppscript"),
		"/w/hookcost.test": goProgram(t, "amd64", "hookcost.test", "test", "-c", module+"bpf/hookcost")}
	r := Run(t, Guest{Kernel: "6.12", Append: " preempt=full", Files: files, Timeout: 3 * time.Minute}, `cd /w
calls='tracepoint("raw_syscalls:sys_enter").where("id == 110 && comm == \"pp-skipped\"").count()'
PPSCRIPT_REQUIRE=root,tracefs,tracepoints ./ppscript -c "$calls" --engine perf --system --format json -o out -- \
	./hookcost.test -test.v -test.run Skipped >said 2>err
echo BEGIN said; cat said; echo BEGIN out; cat out; echo BEGIN err; cat err; exit 0`)
	got := parts(r.Output)
	var known, counted, skipped, told, missing int64
	for line := range strings.Lines(got["said"]) {
		fmt.Sscanf(line, "known %d counted %d skipped %d", &known, &counted, &skipped)
	}
	if !strings.Contains(got["said"], "--- PASS") || skipped == 0 {
		t.Fatalf("got %d skipped of %d, want some: %s", skipped, known, got["said"])
	}
	for _, table := range testkit.Tables(t, got["out"]) {
		for _, row := range table.Rows {
			told += row.Int(t, "count")
		}
		missing += table.Loss["lost"]
	}
	if told > known+100 || told+missing < known || missing == 0 ||
		!strings.Contains(got["err"], "BPF was at work on the CPU") {
		t.Errorf("got %d events of %d and %d lost: %s", told, known, missing, got["err"])
	}
}
