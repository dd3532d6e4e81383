package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// flood is a script whose state grows with each event, because each event has a key of
// its own: rows, histograms, stacks, states and events that wait for ever. It also
// counts all events.
const flood = `
enter = tracepoint("raw_syscalls:sys_enter")

def step(s, e):
    s.n += 1
    if s.n > 100:
        emit(n = s.n)

def main(o):
    never = tracepoint("raw_syscalls:sys_exit").where("id == 2000")
    return [
        enter.agg(n = agg.count()),
        enter.by("_time").agg(n = agg.count(), p99 = agg.quantile("id", 0.99)),
        enter.by("_comm", "_time").agg(n = agg.count()),
        enter.by("_time").hist("id"),
        enter.stack().stacks(by = ["_time"]),
        enter.fold("_time", {"n": 0}, step).agg(n = agg.count()),
        join([enter], [never], key = "_time").agg(n = agg.count()),
    ]
`

// flooded runs the flood after a shell command, and checks that totals are exact. It returns
// the largest memory of the run before the last result.
func flooded(t *testing.T, before string, options ...string) int64 {
	t.Helper()
	const calls = 150_000
	file := filepath.Join(t.TempDir(), "flood.star")
	if err := os.WriteFile(file, []byte(flood), 0o644); err != nil {
		t.Fatal(err)
	}
	l := testkit.StartTarget(t, "-getppid", strconv.Itoa(calls))
	args := []string{"sh", "-c", before + ` exec "$@"`, "sh", testkit.PPScript(t), file, "--engine", "perf",
		"--format", "json", "-v", "-i", "1h", "-p", strconv.Itoa(l.PID())}
	p := testkit.Start(t, append(args, options...)...)
	p.WaitStderr(" open event")
	l.Do()
	l.End()
	out := p.Wait().Want(t, 0) // the run ends when the target ends
	results := 0
	var all, lost uint64
	for _, line := range strings.Split(strings.TrimSpace(out.Stdout), "\n") {
		var r struct {
			Type string
			Data struct {
				Name         string
				Loss         struct{ Evicted, Lost uint64 }
				Rows, Stacks []struct{ N, Count uint64 }
			}
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		var sum uint64
		for _, row := range append(r.Data.Rows, r.Data.Stacks...) {
			sum += row.N + row.Count
		}
		if r.Data.Name == "table" {
			all, lost = sum, r.Data.Loss.Lost
			continue
		}
		if !strings.Contains(" table2 table3 histogram stacks ", " "+r.Data.Name+" ") {
			continue
		}
		if results++; sum != all || r.Data.Loss.Evicted == 0 {
			t.Errorf("%s: got %d in all rows, %d evicted; want %d in all", r.Data.Name, sum,
				r.Data.Loss.Evicted, all)
		}
	}
	if all+lost < calls || results != 4 {
		t.Errorf("got %d events, %d lost, in %d results; want %d in 4\n%s", all, lost, results, calls,
			out.Stderr)
	}
	if !strings.Contains(out.Stderr, "memory: ") {
		t.Errorf("got messages %q, want one about memory", out.Stderr)
	}
	return out.Peak
}

// With --memory the process stays below this limit under any flood, and totals are
// exact.
func TestMemoryIsKept(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	const most = 72 << 20
	if got := flooded(t, "", "--memory", "72m"); got > most {
		t.Errorf("got %d KiB, want %d at most", got>>10, most>>10)
	}
}

// In a cgroup a run keeps to the cgroup's limit without an option, and is not
// killed.
func TestMemoryOfACgroupIsKept(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	const most = 100 << 20
	dir, err := memoryGroup(t, most)
	testkit.Requires(t, testkit.Optional("a cgroup with bounded memory", err))
	if got := flooded(t, "echo $$ >"+dir+"/cgroup.procs;"); got > most {
		t.Errorf("got %d KiB, want %d at most", got>>10, most>>10)
	}
}

// memoryGroup makes a cgroup of version 2 or 1 with this memory limit.
func memoryGroup(t *testing.T, most int) (dir string, err error) {
	for _, in := range [][2]string{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"},
	} {
		dir = filepath.Join(in[0], fmt.Sprintf("ppscript-memory-%d", os.Getpid()))
		if err = os.Mkdir(dir, 0o755); err != nil {
			continue
		}
		t.Cleanup(func() { os.Remove(dir) })
		var file *os.File // a file that the kernel creates in a cgroup
		if file, err = os.OpenFile(filepath.Join(dir, in[1]), os.O_WRONLY, 0); err == nil {
			_, err = file.WriteString(strconv.Itoa(most))
			if err = errors.Join(err, file.Close()); err == nil {
				return dir, nil
			}
		}
		os.Remove(dir)
	}
	return "", err
}
