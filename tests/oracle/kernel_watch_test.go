package oracle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// With a threshold below the kernel's, every timer of the kernel's watchdog is
// too late, on every CPU.
func TestWatchdogWarns(t *testing.T) {
	live(t, testkit.Perf)
	for name, want := range map[string]string{"watchdog": "1", "watchdog_thresh": "10"} {
		got, err := os.ReadFile("/proc/sys/kernel/" + name)
		if err != nil || strings.TrimSpace(string(got)) != want {
			testkit.Requires(t, testkit.Optional("kernel."+name+" = "+want,
				fmt.Errorf("it is %q (%v)", got, err)))
		}
	}
	// The machine itself may be late: perf shows the times of its timers.
	symbols := read(t, "/proc/kallsyms")
	fn := regexp.MustCompile(`(?m)^([0-9a-f]+) . watchdog_timer_fn$`).FindStringSubmatch(symbols)
	if fn == nil {
		testkit.Requires(t, testkit.Optional("the kernel's watchdog",
			errors.New("no watchdog_timer_fn in kallsyms")))
	}
	t.Parallel()
	timers := filepath.Join(t.TempDir(), "perf.data")
	witness := testkit.Start(t, "perf", "record", "-q", "-B", "-N", "--no-bpf-event", "-m", "4096", "-a",
		"-C", "0", "-o", timers, "-e", "timer:hrtimer_expire_entry",
		"--filter", "function == 0x"+fn[1], "--", "sleep", "14")
	quiet := testkit.Start(t, testkit.PPScript(t), "watchdog", "-C", "0", "--duration", "9s",
		"--format", "json")
	out := testkit.Run(t, testkit.PPScript(t), "watchdog", "-C", "0", "-g", "--thresh", "1s", "--duration",
		"9s", "--format", "json").Want(t, 0)
	rows := last(t, out.Stdout).Rows
	if len(rows) != 1 {
		t.Fatalf("got %v, want one CPU", rows)
	}
	warnings := int64(0)
	for _, e := range testkit.Events(t, out.Stdout) {
		if !strings.Contains(e.Text, "WILL=soft lockup") && !strings.Contains(e.Text, "WILL=hard lockup") {
			t.Errorf("got %q, want a warning", e.Text)
		}
		if len(e.Stack) == 0 {
			t.Errorf("%s: got no stack", e.Text)
		}
		warnings++
	}
	if warnings != rows[0].Int(t, "hard")+rows[0].Int(t, "soft") {
		t.Errorf("got %d lines, want those of %v", warnings, rows[0])
	}

	// The kernel's own threshold is not reached if its timers come every four
	// seconds, as expected.
	out = quiet.Wait().Want(t, 0)
	witness.Stop()
	late, before := 0, int64(0)
	// A timer that perf lost counts as one more late timer.
	lines, _ := readPerfScript(t, timers)
	for _, l := range lines {
		if before != 0 && l.time-before > 4_150_000_000 {
			late++
		}
		before = l.time
	}
	least := int64(2)
	if late > 0 {
		least = 1
	}
	if rows[0].Int(t, "expired") < least || rows[0].Int(t, "stopper") < 1 || rows[0].Int(t, "hard") < 1 {
		t.Errorf("got %v, want two timers in 9 s, and warnings; %d were late", rows, late)
	}
	rows = last(t, out.Stdout).Rows
	if len(rows) != 1 || rows[0].Int(t, "expired") < least || late == 0 && rows[0].Int(t, "hard") != 0 ||
		rows[0].Int(t, "soft") != 0 {
		t.Errorf("got %v, want two timers in 9 s and no warning; %d were late", rows, late)
	}
}

// Creation and removal of page-table pages equal perf script's fields.
func TestKVMMMUEqualsPerfScript(t *testing.T) {
	live(t, testkit.Perf)
	for _, file := range []string{"/dev/kvm", "/sys/kernel/tracing/events/kvmmmu/kvm_mmu_get_page"} {
		_, err := os.Stat(file)
		testkit.Requires(t, testkit.Optional("KVM", err))
	}
	file := filepath.Join(t.TempDir(), "perf.data")
	testkit.Run(t, "perf", "record", "-q", "-o", file, "-e",
		"kvmmmu:kvm_mmu_get_page,kvmmmu:kvm_mmu_prepare_zap_page", "--",
		testkit.Build(t, "tests/vm/minikvm"), "-mix", "20").Want(t, 0)
	get, created, zapped := int64(0), int64(0), int64(0)
	for _, l := range perfScript(t, file) {
		role := decimal(t, between(l.text, "role=", " "))
		switch {
		case strings.HasSuffix(l.event, "get_page"):
			get++
			created += decimal(t, between(l.text, "created=", " "))
		case role&0x800 == 0:
			zapped++
		}
	}
	out := testkit.Run(t, testkit.PPScript(t), "kvmmmu", "--input", file, "--format", "json").Want(t, 0)
	var got [3]int64
	for _, r := range last(t, out.Stdout).Rows {
		got[0] += r.Int(t, "get")
		got[1] += r.Int(t, "created")
		got[2] += r.Int(t, "zapped")
	}
	if want := [3]int64{get, created, zapped}; got != want || get == 0 {
		t.Errorf("got %v look-ups, pages made and given up, want %v", got, want)
	}
}

func decimal(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
