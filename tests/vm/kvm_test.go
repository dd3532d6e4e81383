package vm

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// kvmGuest has an emulated SVM, so kvm_amd works in it and kvm_exit really
// fires.
func kvmGuest(t *testing.T, files map[string]string) Guest {
	t.Helper()
	if files == nil {
		files = map[string]string{}
	}
	files["/w/minikvm"] = build(t, "amd64", "tests/vm/minikvm")
	return Guest{Modules: []string{"kvm_amd"}, Files: files}
}

// traceKVM switches KVM's tracepoints on; printTrace prints their output
// between two marks. These tests compare with this output.
const (
	traceKVM   = "for e in kvm_exit kvm_entry; do echo 1 >/sys/kernel/tracing/events/kvm/$e/enable; done\n"
	printTrace = "\necho; echo BEGIN TRACE; cat /sys/kernel/tracing/trace; echo END TRACE\n"
)

// A kvmTrace counts the lines of the guest's trace.
type kvmTrace struct {
	entries, exits int
	reasons        map[string]int
}

var exitLine = regexp.MustCompile(`kvm_exit: vcpu \d+ reason (\w+)`)

func readTrace(t *testing.T, output []byte) kvmTrace {
	t.Helper()
	_, text, begun := strings.Cut(string(output), "BEGIN TRACE\n")
	text, _, ended := strings.Cut(text, "END TRACE\n")
	if !begun || !ended {
		t.Fatal("no trace in the guest's output")
	}
	c := kvmTrace{entries: strings.Count(text, " kvm_entry: "), reasons: map[string]int{}}
	for _, m := range exitLine.FindAllStringSubmatch(text, -1) {
		c.exits++
		c.reasons[m[1]]++
	}
	return c
}

// The profiler must see the known exits of minikvm, as pairs with the next entry: live at
// the same time as the kernel's trace, filtered, by thread, and on its own recording.
func TestKVMExitProfiler(t *testing.T) {
	t.Parallel()
	files := map[string]string{"/w/ppscript": build(t, "amd64", "cmd/ppscript")}
	r := Run(t, kvmGuest(t, files), traceKVM+kvmExitCommands+printTrace)
	if r.Status != 0 {
		t.Fatalf("ppscript: got status %d", r.Status)
	}
	parts := strings.Split(string(r.Output), "NEXT\n")
	if len(parts) != 9 {
		t.Fatalf("got %d parts of output, want 9", len(parts))
	}

	// minikvm stops after its last port write, whose exit has no entry; its
	// first access to the page adds a nested page fault.
	live := exitCalls(t, []byte(parts[0]))
	checkMix(t, "live", live, 1)
	if !strings.Contains(parts[0], "vcpu 0: io=200 mmio=199 hlt=199\n") {
		t.Errorf("minikvm saw other exits than it should")
	}
	checkTrace(t, live, readTrace(t, r.Output))

	if got := exitCalls(t, []byte(parts[1])); len(got) != 1 || got["cpuid"] != 199 {
		t.Errorf("filtered: got %v, want 199 cpuid", got)
	}
	checkMix(t, "two threads", exitCalls(t, []byte(parts[2])), 2)
	if n := strings.Count(parts[2], `"exit_reason":"hlt"`); n != 2 {
		t.Errorf("two threads: got %d rows for hlt, want one for each", n)
	}
	checkMix(t, "recorded", exitCalls(t, []byte(parts[3])), 1)

	checkMix(t, "bpf:kvm_exit", exitCalls(t, []byte(parts[4])), 1)
	// With one CPU and two vCPUs, one waits while the other runs.
	for i, name := range []string{"programs send", "perf", "of threads"} {
		checkMix(t, name, exitCalls(t, []byte(parts[5+i])), 2)
		checkWaits(t, name, []byte(parts[5+i]))
	}
	if n := strings.Count(parts[7], `"exit_reason":"hlt"`); n != 1 {
		t.Errorf("of threads: got %d rows for hlt, want one of both", n)
	}
	if !regexp.MustCompile(`(?m)^ +PID max-latency\(us\)\n +\d+ +\d+\.\d{3}$`).MatchString(parts[7]) {
		t.Errorf("of threads: no longest exit in the file")
	}
}

// checkWaits checks that vCPUs waited, and no longer than they were outside of
// the guest.
func checkWaits(t *testing.T, name string, output []byte) {
	t.Helper()
	queued := 0.0
	for line := range strings.Lines(string(output)) {
		var record struct {
			Data struct {
				Rows []struct {
					Reason   string  `json:"exit_reason"`
					Total    float64 `json:"total"`
					Wait     float64 `json:"total wait"`
					Rundelay float64 `json:"rundelay"`
				}
			}
		}
		if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &record) != nil {
			continue
		}
		for _, row := range record.Data.Rows {
			queued += row.Rundelay
			if row.Wait < 0 || row.Rundelay < 0 || row.Wait+row.Rundelay > row.Total {
				t.Errorf("%s: %s: got %v ns of waiting and %v for a CPU in %v", name, row.Reason, row.Wait,
					row.Rundelay, row.Total)
			}
		}
	}
	if queued == 0 {
		t.Errorf("%s: no vCPU waited for the CPU", name)
	}
}

// checkMix checks the exits of minikvm -mix 200 on some vCPUs. The number of
// timer interrupts is not known.
func checkMix(t *testing.T, name string, got map[string]int, vcpus int) {
	t.Helper()
	for reason, n := range map[string]int{"io": 199 * vcpus, "cpuid": 199 * vcpus, "hlt": 199 * vcpus} {
		if got[reason] != n {
			t.Errorf("%s: got %d %s, want %d", name, got[reason], reason, n)
		}
	}
	// Either vCPU may touch the page first.
	if n := got["npf"]; n <= 199*vcpus || n > 200*vcpus {
		t.Errorf("%s: got %d npf, want 199 and one or more", name, n)
	}
	for reason := range got {
		if reason != "interrupt" && got[reason] < 199 {
			t.Errorf("%s: got %d %s, want no others", name, got[reason], reason)
		}
	}
}

// checkTrace compares pairs with the first run in the kernel's own trace.
func checkTrace(t *testing.T, got map[string]int, want kvmTrace) {
	t.Helper()
	if want.entries != want.exits {
		t.Errorf("the trace has %d entries and %d exits, want as many", want.entries, want.exits)
	}
	want.reasons["io"]--
	total := 0
	for _, calls := range got {
		total += calls
	}
	for reason, n := range want.reasons {
		if got[reason] != n {
			t.Errorf("%s: got %d calls, want the trace's %d", reason, got[reason], n)
		}
	}
	if total != want.exits-1 {
		t.Errorf("got %d calls together, want %d", total, want.exits-1)
	}
}

// kvmExitCommands run ppscript, with tables as JSON. Only the first run is in
// the kernel's trace.
const kvmExitCommands = `set -e
p="ppscript kvm-exit --format json"
$p -- minikvm -mix 200
echo 0 >/sys/kernel/tracing/tracing_on; echo NEXT
$p --filter 'exit_reason == 0x72' -- minikvm -mix 200; echo NEXT
$p --perins -- minikvm -vcpus 2 -mix 200; echo NEXT
ppscript record -e kvm:kvm_exit,kvm:kvm_entry -o r.data -- minikvm -mix 200
$p --input r.data; echo NEXT
b="ppscript bpf:kvm_exit --threshold 0 --format json"
$b -- minikvm -mix 200; echo NEXT
$b --system --engine bpf -- minikvm -vcpus 2 -mix 200; echo NEXT
$b --system --engine perf -- minikvm -vcpus 2 -mix 200; echo NEXT
$b --rundelay --perins --output2 longest -- minikvm -vcpus 2 -mix 200; cat longest; echo NEXT
set +e`

// exitCalls adds up the column calls of all tables, by exit reason. Names are
// lower case in the trace, and may have capitals in the table.
func exitCalls(t *testing.T, output []byte) map[string]int {
	t.Helper()
	calls := map[string]int{}
	for line := range strings.Lines(string(output)) {
		var record struct {
			Type string
			Data struct {
				Rows []struct {
					Reason any `json:"exit_reason"`
					Calls  int
				}
			}
		}
		if !strings.HasPrefix(line, "{") {
			continue
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("parse %q: %v", line, err)
		}
		if record.Type != "table" {
			continue
		}
		for _, row := range record.Data.Rows {
			name, ok := row.Reason.(string)
			if !ok {
				t.Fatalf("exit_reason: got %v, want a name", row.Reason)
			}
			calls[strings.ToLower(name)] += row.Calls
		}
	}
	return calls
}

func TestExitCalls(t *testing.T) {
	got := exitCalls(t, []byte("vcpu 0: io=1\n"+
		`{"v":1,"type":"attached","data":{"events":2}}`+"\n"+
		`{"v":1,"type":"table","data":{"rows":[{"exit_reason":"IO","calls":3},{"exit_reason":"cpuid","calls":1}]}}`+
		"\n"+
		`{"v":1,"type":"table","data":{"rows":[{"exit_reason":"io","calls":2}]}}`+"\n"))
	if got["io"] != 5 || got["cpuid"] != 1 || len(got) != 2 {
		t.Errorf("got %v", got)
	}
}
