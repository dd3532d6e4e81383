package oracle

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ppscript/tests/testkit"
)

// getppidsIn counts the calls of getppid in a recording, as perf reads it.
func getppidsIn(t *testing.T, file string) (n int) {
	t.Helper()
	for _, l := range perfScript(t, file) {
		if strings.HasPrefix(l.text, "NR 110 ") {
			n++
		}
	}
	return n
}

// A flight recorder writes the latest events on each request, and goes on. perf
// reads the files, and finds the same events as ppscript.
func TestFlightOnSignal(t *testing.T) {
	live(t, testkit.Perf)
	file := filepath.Join(t.TempDir(), "flight.data")
	l := testkit.StartTarget(t, "-getppid", "1000")
	p := record(t, l, file, "--flight", "10m", "-e", enter)
	for i, name := range []string{file + ".1", file + ".2"} {
		l.Do()
		p.Signal(syscall.SIGUSR2)
		p.WaitStderr(name + ": ")
		if n, want := getppidsIn(t, name), 1000*(i+1); n != want {
			t.Errorf("%s: got %d calls of getppid, want %d", name, n, want)
		}
	}
	out := p.Stop().Want(t, 0)
	if !strings.Contains(out.Stderr, "files written: 2") || strings.Contains(out.Stderr, "complete since") {
		t.Errorf("got %q, want 2 files that are whole", out.Stderr)
	}
	run := testkit.Run(t, testkit.PPScript(t), "trace", "--input", file+".2", "--format", "json", "-e",
		enter).Want(t, 0)
	var got []line
	for _, e := range testkit.Events(t, run.Stdout) {
		got = append(got, line{e.Comm, e.TID, e.CPU, e.Time, e.Event, e.Text})
	}
	compareLines(t, got, perfScript(t, file+".2"))
}

// Another user's link with the name of a file does not end a recorder: it uses the
// next name.
func TestFlightPassesNamesThatAreTaken(t *testing.T) {
	live(t)
	dir := filepath.Join(t.TempDir(), "shared")
	file := filepath.Join(dir, "flight.data")
	err := errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o777|os.ModeSticky), os.Symlink("x", file+".1"),
		os.Lchown(file+".1", 65534, 65534))
	if err != nil {
		t.Fatal(err)
	}
	l := testkit.StartTarget(t, "-getppid", "1000")
	p := record(t, l, file, "--flight", "10m", "-e", enter)
	for _, name := range []string{file + ".2", file + ".3"} {
		p.Signal(syscall.SIGUSR2)
		p.WaitStderr(name + ": ")
	}
	if out := p.Stop().Want(t, 0); !strings.Contains(out.Stderr, "files written: 2") {
		t.Errorf("got %q, want 2 files", out.Stderr)
	}
}

// Rings that are too small for the time keep the newest events, and the output
// says from which time on they are complete.
func TestFlightSaysWhatWasOverwritten(t *testing.T) {
	live(t, testkit.Perf)
	const calls = 20000
	file := filepath.Join(t.TempDir(), "flight.data")
	l := testkit.StartTarget(t, "-getppid", "20000")
	l.OnOneCPU()
	p := record(t, l, file, "--flight", "10m", "-m", "16", "-e", enter)
	l.Do()
	p.Signal(syscall.SIGUSR2)
	p.WaitStderr("; complete since ")
	p.Stop().Want(t, 0)
	// 64 KiB hold less than a tenth of them, and at least one for each 128 bytes.
	if n := getppidsIn(t, file+".1"); n >= calls/10 || n < 256 {
		t.Errorf("got %d calls of getppid of %d, want the newest that fit", n, calls)
	}
}

// A result of the script that runs beside it triggers a file; the oldest files
// are removed.
func TestFlightWhenSlow(t *testing.T) {
	live(t, testkit.Perf)
	dir := t.TempDir()
	file := filepath.Join(dir, "flight.data")
	out := testkit.Run(t, testkit.PPScript(t), "record", "--flight", "10s", "--flight-files", "2", "-o", file,
		"-e", "raw_syscalls:sys_enter", "--when", "syscalls --than 200ms", "--", "sh", "-c",
		"sleep 0.5; sleep 0.8; sleep 0.8; sleep 0.8").Want(t, 0)
	if !strings.Contains(out.Stderr, file+".1: ") || !strings.Contains(out.Stderr, "syscalls showed") {
		t.Fatalf("got %q, want files since syscalls showed a slow call", out.Stderr)
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 2 {
		t.Fatalf("got %v (%v), want 2 files", names, err)
	}
	for _, n := range names {
		read := testkit.Run(t, "perf", "script", "-i", filepath.Join(dir, n.Name())).Want(t, 0)
		if !strings.Contains(read.Stdout, "raw_syscalls:sys_enter") {
			t.Errorf("%s: perf script shows nothing", n.Name())
		}
	}
}

// An event with a filter has a file written.
func TestFlightWhenAnEventComes(t *testing.T) {
	live(t, testkit.Perf)
	file := filepath.Join(t.TempDir(), "flight.data")
	run := func(signal string) string {
		return testkit.Run(t, testkit.PPScript(t), "record", "--flight", "10s", "-o", file, "-e",
			"raw_syscalls:sys_enter", "--when", "signal:signal_generate/sig==10/", "--", "sh", "-c",
			"trap : USR1 USR2; kill -"+signal+" $$; sleep 0.2").Want(t, 0).Stderr
	}
	if said := run("USR2"); strings.Contains(said, file+".1") {
		t.Errorf("got %q, want no file since the filter leaves the event out", said)
	}
	said := run("USR1")
	if !strings.Contains(said, file+".1: ") || !strings.Contains(said, "trace showed an event") {
		t.Errorf("got %q, want a file since the event came", said)
	}
}

// A command is held until the script beside the recording is attached too.
func TestFlightSeesTheFirstCall(t *testing.T) {
	live(t, testkit.Perf)
	file := filepath.Join(t.TempDir(), "flight.data")
	out := testkit.Run(t, testkit.PPScript(t), "record", "--flight", "10s", "-o", file, "-e",
		"sched:sched_switch", "--when", "syscalls --than 200ms", "--", "sleep", "0.4").Want(t, 0)
	if !strings.Contains(out.Stderr, file+".1: ") {
		t.Errorf("got %q, want a file since the command slept", out.Stderr)
	}
	testkit.Run(t, testkit.PPScript(t), "record", "--flight", "10s", "-o", file, "-e", "sched:sched_switch",
		"--when", "top -e sched:sched_switch", "--", "true").Want(t, 2)
}
