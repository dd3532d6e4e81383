package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// A secret is a file that only root can read, and a link to it.
func secret(t *testing.T, dir string) (file, link string) {
	t.Helper()
	file, link = filepath.Join(dir, "secret.star"), filepath.Join(dir, "link.star")
	if err := os.WriteFile(file, []byte("hush:$6$salt$hash:0:\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	return file, link
}

// With the documented capabilities, an ordinary user can read and write no file
// that he could not read or write without them.
func TestFileCapabilitiesOpenNoFiles(t *testing.T) {
	live(t, testkit.FileCapabilities, testkit.Samples, testkit.Uprobes)
	program, dir := testkit.Ordinary(t, 0o755), testkit.Open(t)
	file, link := secret(t, dir)
	library := filepath.Join(dir, "load.star")
	if err := os.WriteFile(library, []byte("load(\"./secret.star\", \"x\")\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	locked := filepath.Join(dir, "locked")
	if err := os.Mkdir(locked, 0o700); err != nil {
		t.Fatal(err)
	}
	f := func(args ...string) {
		t.Helper()
		o := testkit.StartOrdinary(t, dir, append([]string{program}, args...)...).Wait()
		if said := o.Stdout + o.Stderr; o.Exit == 0 || !strings.Contains(said, "permission denied") ||
			strings.Contains(said, "hush") {
			t.Errorf("%q: got exit status %d and %q, want that it is not permitted, and no word of the file",
				args, o.Exit, said)
		}
	}
	for _, path := range []string{file, link} {
		f(path)
		f("check", path)
		f("explain", path)
		f("fmt", path)
		f("--input", path, "top", "-e", "sched:sched_switch")
		f("profile", "--duration", "10ms", "--flame-base", path, "--flame-graph", filepath.Join(dir, "x.svg"))
		f("usdt", "list", path)
	}
	f(library)
	f("top", "-e", "sched:sched_switch", "--duration", "10ms", "-o", file)
	f("top", "-e", "sched:sched_switch", "--duration", "10ms", "-o", filepath.Join(locked, "x"))
	f("record", "-e", "sched:sched_switch", "--duration", "10ms", "-o", filepath.Join(locked, "x"))
	f("-c", `uprobe("`+file+`", "main").count()`)
	f("-c", `uprobe("`+file+`", "main", pid = `+strconv.Itoa(os.Getpid())+`).count()`)
	if text, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(text), "hush") {
		t.Errorf("got %q, %v, want the file as it was", text, err)
	}
	if left, _ := os.ReadDir(locked); len(left) > 0 {
		t.Errorf("got %v, want no file there", left)
	}
}

// He can trace nevertheless: events of tracefs, threads of other users,
// functions of programs in directories that he cannot read.
func TestFileCapabilitiesTrace(t *testing.T) {
	live(t, testkit.AMD64, testkit.FileCapabilities, testkit.Samples)
	program, dir := testkit.Ordinary(t, 0o755), testkit.Open(t)
	const calls = 700
	for _, engine := range []string{"perf", "bpf"} {
		l := testkit.StartTarget(t, "-getppid", fmt.Sprint(calls))
		p := testkit.StartOrdinary(t, dir, program, "--engine", engine, "--format", "json", "-v", "-p",
			strconv.Itoa(l.PID()), "-c", `tracepoint("raw_syscalls:sys_enter", filter = "id == 110").count()`)
		p.WaitStderr(" open event")
		l.Do()
		if n := last(t, p.Stop().Want(t, 0).Stdout).Rows[0].Int(t, "count"); n != calls {
			t.Errorf("--engine %s: got %d calls, want %d", engine, n, calls)
		}
		l.End()
	}
	// The directory of the program is root's own.
	if st, err := os.Stat(filepath.Dir(testkit.Load(t))); err != nil || st.Mode().Perm()&0o077 != 0 {
		t.Fatalf("%v, %v: want a directory that others cannot look into", st.Mode(), err)
	}
	said := testkit.StartOrdinary(t, dir, program, "doctor").Wait().Stdout
	if !strings.Contains(said, "every user of this machine has them") ||
		!strings.Contains(said, "chmod 750 "+program) {
		t.Errorf("doctor: got %q, want a word about the mode of the program", said)
	}
	l := testkit.StartTarget(t, "-spin", "500")
	p := testkit.StartOrdinary(t, dir, program, "profile", "-F", "997", "-g", "-v", "-p",
		strconv.Itoa(l.PID()), "--flame-graph", "-")
	p.WaitStderr(" open event")
	l.Do()
	if out := p.Stop().Want(t, 0).Stdout; !strings.Contains(out, "main.") ||
		!strings.Contains(out, "runtime.") {
		t.Errorf("got %q, want functions of the target", out)
	}
	l.End()
}

// effective matches the line of /proc/PID/task/TID/status with the effective
// capabilities.
var effective = regexp.MustCompile(`(?m)^CapEff:\t([0-9a-f]{16})$`)

// While it runs, no thread can read files, and the command that it started has
// no capability at all.
func TestCapabilitiesAreDropped(t *testing.T) {
	live(t, testkit.FileCapabilities, testkit.Samples)
	program, dir := testkit.Ordinary(t, 0o755), testkit.Open(t)
	p := testkit.StartOrdinary(t, dir, program, "profile", "-F", "997", "-g", "-i", "100ms", "-v",
		"--", "sh", "-c", "grep CapPrm /proc/self/status; exec sleep 60")
	p.WaitStdout("CapPrm:\t0000000000000000\n")
	p.WaitStdout(".so") // stacks of it have been read
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", p.PID()))
	if err != nil || len(tasks) < 3 {
		t.Fatalf("got %d threads, %v, want several", len(tasks), err)
	}
	const files = 1<<1 | 1<<2 | 1<<19 // CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE
	for range 20 {
		raised := 0
		for _, path := range tasks {
			text, err := os.ReadFile(path)
			if err != nil {
				continue // the thread has ended
			}
			set, err := strconv.ParseUint(effective.FindStringSubmatch(string(text))[1], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			if set&files != 0 {
				raised++
			}
			if set&(1<<38) == 0 {
				t.Errorf("%s: CapEff is %x, want CAP_PERFMON in it", path, set)
			}
		}
		// One thread may be opening something at this moment.
		if raised > 1 {
			t.Errorf("got %d of %d threads that can read all files, want none", raised, len(tasks))
		}
	}
	p.Stop()
}

// A set-uid program refuses to run, even as the child that becomes a command.
func TestSetUIDIsRefused(t *testing.T) {
	live(t)
	program, dir := testkit.Ordinary(t, 0o755|os.ModeSetuid), testkit.Open(t)
	for _, args := range [][]string{
		{program, "version"}, {program, "top", "-e", "sched:sched_switch"},
		{"bash", "-c", `exec -a ppscript-exec "$0" /usr/bin/id id`, program},
	} {
		o := testkit.StartOrdinary(t, dir, args...).Wait()
		if o.Exit != 2 || o.Stdout != "" || !strings.Contains(o.Stderr, "set-uid") ||
			!strings.Contains(o.Stderr, "hint: chmod ug-s") {
			t.Errorf("%q: got exit status %d, %q, %q, want that it is refused", args, o.Exit,
				o.Stdout, o.Stderr)
		}
	}
}
