package oracle

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// A shownCall is a slow call with the events during it.
type shownCall struct {
	Delay         int64
	Incomplete    bool
	CompleteSince int64 `json:"complete_since"`
	Start         struct {
		Comm, Text string
	}
	Events []struct {
		Part        string
		Since       int64
		Comm, Event string
		Text        string
	}
}

// whileWaiting makes cat wait in a read of a pipe for half a second, and as long as another process
// makes calls.
func whileWaiting(t *testing.T, calls int) (command string) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	return fmt.Sprintf("mkfifo %[1]s; cat %[1]s & exec 9>%[1]s; "+
		"until grep -q '^0 ' /proc/$!/syscall; do sleep 0.01; done; "+
		"sleep 0.5; %[2]s -getppid %[3]d; exec 9>&-; wait", pipe, testkit.Load(t), calls)
}

// slowRead lets ppscript trace a read, during which another process calls getppid, and returns the
// shown read, and the numbers of these calls in order.
func slowRead(t *testing.T, engine string, calls int, options ...string) (call shownCall, numbers []int) {
	t.Helper()
	args := append([]string{testkit.PPScript(t), "syscalls", "--engine", engine, "--than", "400ms",
		"--format", "json"}, options...)
	args = append(args, "--", "sh", "-c", whileWaiting(t, calls))
	out := testkit.Run(t, args...).Want(t, 0)
	for _, call = range testkit.All[shownCall](t, out.Stdout, "detail") {
		if call.Start.Comm != "cat" {
			continue
		}
		for _, e := range call.Events {
			n := -1
			if e.Event == enter && e.Part == "between" {
				if _, err := fmt.Sscanf(e.Text, "NR 110 (%x,", &n); err == nil {
					numbers = append(numbers, n)
				}
			}
		}
		return call, numbers
	}
	t.Fatalf("got %s, want the read", out.Stdout)
	return call, nil
}

// All events during a slow call are shown, with each engine.
func TestDetailHasAllEvents(t *testing.T) {
	live(t)
	const calls = 5000
	for _, engine := range []string{"bpf", "perf"} {
		call, numbers := slowRead(t, engine, calls, "--detail")
		if call.Incomplete || len(numbers) != calls {
			t.Errorf("%s: got %d calls, incomplete %v, want %d", engine, len(numbers), call.Incomplete, calls)
		}
		for i, n := range numbers {
			if n != i {
				t.Fatalf("%s: got call %d, want %d", engine, n, i)
			}
		}
	}
}

// If the memory for events is too small, the newest events are shown without a gap, and
// the output says from which time on.
func TestDetailSaysWhatWasOverwritten(t *testing.T) {
	live(t)
	const calls = 20000
	call, numbers := slowRead(t, "bpf", calls, "--detail", "-m", "16")
	// 64 KiB have room for 512 events: at least a quarter of that must be
	// calls.
	if len(numbers) < 128 || len(numbers) > 512 || !call.Incomplete || call.CompleteSince <= 0 ||
		call.CompleteSince >= call.Delay {
		t.Fatalf("got %d calls, incomplete %v, complete since %d ns of %d, want the newest that fit",
			len(numbers), call.Incomplete, call.CompleteSince, call.Delay)
	}
	for i, n := range numbers {
		if want := calls - len(numbers) + i; n != want {
			t.Fatalf("got call %d, want %d: there is a gap", n, want)
		}
	}
	for _, e := range call.Events {
		if strings.Contains(e.Text, "NR 110 ") && e.Since < call.CompleteSince {
			t.Fatalf("a call that overwrites others is %d ns after the start, complete since %d", e.Since,
				call.CompleteSince)
		}
	}
	out := testkit.Run(t, testkit.PPScript(t), "syscalls", "--than", "400ms", "--detail", "-m", "16", "--",
		"sh", "-c", whileWaiting(t, calls)).Want(t, 0)
	if !strings.Contains(out.Stdout, "| complete since ") || !strings.Contains(out.Stdout, "-m PAGES") {
		t.Errorf("got no word of what was overwritten: %.2000s", out.Stdout)
	}
}

// Events after a slow call are waited for, and shown even if no further event comes.
func TestDetailAwaitsWhatComesAfter(t *testing.T) {
	live(t)
	p := testkit.Start(t, testkit.PPScript(t), "syscalls", "--engine", "bpf", "--than", "400ms",
		"--format", "json", "--detail=-1s,+200ms", "--", "sh", "-c", "sleep 0.5; true; exec sleep 30")
	p.Await("the first sleep", func(stdout string) bool {
		for _, call := range testkit.All[shownCall](t, whole(stdout), "detail") {
			parts := map[string]int{}
			for _, e := range call.Events {
				parts[e.Part]++
			}
			if call.Start.Comm == "sleep" && parts["before"] > 10 && parts["after"] > 10 {
				return true
			}
		}
		return false
	})
	p.Stop()
}

// whole returns the complete lines of a text.
func whole(text string) string { return text[:strings.LastIndexByte(text, '\n')+1] }
