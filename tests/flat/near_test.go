package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// A room is a cgroup of version 1 or 2 with a memory limit.
type room struct{ dir, usage, caches, events string }

// newRoom makes a cgroup with a limit of this many bytes.
func newRoom(t *testing.T, bytes int64) *room {
	t.Helper()
	for _, v := range []struct{ top, limit, usage, caches, events string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_",
			"memory.oom_control"},
		{"/sys/fs/cgroup", "memory.max", "memory.current", "", "memory.events"},
	} {
		dir, err := os.MkdirTemp(v.top, "ppscript-near-*")
		if err != nil {
			continue
		}
		t.Cleanup(func() { os.Remove(dir) })
		if os.WriteFile(filepath.Join(dir, v.limit), []byte(strconv.FormatInt(bytes, 10)), 0) == nil {
			return &room{dir, v.usage, v.caches, filepath.Join(dir, v.events)}
		}
	}
	t.Skip("no cgroup of memory can be made here")
	return nil
}

// inside returns the command line that runs a command in the cgroup.
func (r *room) inside(words ...string) []string {
	return append([]string{"sh", "-c", `echo $$ >"$0"/cgroup.procs && exec "$@"`, r.dir}, words...)
}

// used returns the memory of the cgroup that the kernel cannot reclaim.
func (r *room) used() (bytes int64) {
	text, _ := os.ReadFile(filepath.Join(r.dir, r.usage))
	bytes, _ = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	stat, _ := os.ReadFile(filepath.Join(r.dir, "memory.stat"))
	for line := range strings.Lines(string(stat)) {
		name, n, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == r.caches+"inactive_file" || name == r.caches+"active_file" {
			cache, _ := strconv.ParseInt(n, 10, 64)
			bytes -= cache
		}
	}
	return bytes
}

// wantNoneKilled fails the test if the kernel killed a process for lack of
// memory.
func (r *room) wantNoneKilled(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(r.events)
	if err != nil || !regexp.MustCompile(`(?m)^oom_kill 0$`).Match(text) {
		t.Errorf("killed: %s, %v", text, err)
	}
}

// ballastVariable is an environment variable that makes a process of this test allocate memory: its
// value is the number of bytes to fill, the directory of the cgroup, and the names of its file and
// member with the current use.
const ballastVariable = "PPSCRIPT_BALLAST"

// ballast starts a process that keeps a number of bytes of a cgroup in use until it is ended. It
// allocates more when other processes free some, and never exceeds the number.
func ballast(words string) {
	// If the kernel has to kill a process, it should be this one.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	f := strings.Split(words, ",")
	want, _ := strconv.ParseInt(f[0], 10, 64)
	r := &room{dir: f[1], usage: f[2], caches: f[3]}
	const piece = 256 << 10
	for range time.Tick(2 * time.Millisecond) {
		if r.used()+piece <= want {
			// It stays allocated until the process ends.
			mem, err := syscall.Mmap(-1, 0, piece, syscall.PROT_READ|syscall.PROT_WRITE,
				syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_POPULATE)
			if err == nil {
				mem[0] = 1
			}
		}
	}
}

// If other processes use nearly all the memory of its cgroup, a run ends early by itself, says so,
// and shows its results so far.
func TestRunsEndBeforeTheyAreKilled(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	const limit, left = 192 << 20, 6 << 20
	r := newRoom(t, limit)
	const calls = 1000
	target := testkit.StartTarget(t, "-getppid", strconv.Itoa(calls))
	run := testkit.StartFor(t, 5*time.Minute, r.inside(testkit.PPScript(t), "-c",
		`tracepoint("raw_syscalls:sys_enter").where("id == 110").by("comm").agg(n = agg.count())`,
		"--pids", strconv.Itoa(target.PID()), "-i", "200ms", "--format", "json")...)
	run.WaitStdout(`"table"`) // now the run has begun
	target.Do()
	run.WaitStdout(`"n":`)
	words := strings.Join([]string{strconv.Itoa(limit - left), r.dir, r.usage, r.caches}, ",")
	heavy := testkit.StartFor(t, 5*time.Minute, append([]string{"env", ballastVariable + "=" + words},
		r.inside(os.Args[0])...)...)
	o := run.Wait()
	heavy.Stop()
	if !strings.Contains(o.Stderr, "the run ends early, before it is killed") {
		t.Errorf("got %q, want that it ends early", o.Stderr)
	}
	var n int64
	for _, table := range testkit.Tables(t, o.Stdout) {
		for _, row := range table.Rows {
			n += row.Int(t, "n")
		}
	}
	if n != calls {
		t.Errorf("got %d calls, want %d", n, calls)
	}
	r.wantNoneKilled(t)
}

// A run with stacks of the whole machine in a cgroup that is too small for it leaves names out, and ends by
// itself with results.
func TestStacksInASmallCgroup(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	r := newRoom(t, 60<<20)
	folded := filepath.Join(t.TempDir(), "x.folded")
	o := testkit.Run(t, r.inside(testkit.PPScript(t), "profile", "-g", "-a", "--duration", "2",
		"--flame-graph", folded)...).Want(t, 0)
	if text, err := os.ReadFile(folded); err != nil || len(text) == 0 {
		t.Errorf("no stacks: %v; it said %q", err, o.Stderr)
	}
	if !strings.Contains(o.Stderr, "needs 128MiB") {
		t.Errorf("got %q, want what is needed", o.Stderr)
	}
	r.wantNoneKilled(t)
}
