package why

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/result"
	"ppscript/tests/testkit"
)

// This file explains programs of others: the result must equal the times that they, or another
// tracer, measure.

// slowSpans returns the number of slow spans in an output, their total time, and the number of
// spans that were not explained, because explaining takes at most a part of the time.
func slowSpans(t testing.TB, output string) (n int, ns int64, skipped int) {
	t.Helper()
	for line := range strings.Lines(output) {
		var record struct {
			Data struct {
				Slow    struct{ Spans, NS int64 }
				Skipped int
			}
		}
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &record) == nil {
			n += int(record.Data.Slow.Spans)
			ns += record.Data.Slow.NS
			skipped += record.Data.Skipped
		}
	}
	return n, ns, skipped
}

// causesOf adds up the times of the spans that an output shows, by the kind of cause.
func causesOf(t testing.TB, output string) map[result.WhyKind]int64 {
	t.Helper()
	sums := map[result.WhyKind]int64{}
	eachShown(t, output, func(s *result.WhySpan) {
		for _, w := range checkSum(s) {
			t.Error(w)
		}
		for i := range s.Parts {
			sums[s.Parts[i].Cause().Kind] += s.Parts[i].NS()
		}
	})
	return sums
}

// near reports whether two lengths differ by at most 2 %, or by a small time.
func near(a, b int64) bool { return max(a-b, b-a) <= max(b/50, 200_000) }

// slowDisk makes a cgroup that may read from the disk of a directory a hundred times a second, and
// returns the shell command to enter it. Unused reads may be made later, and the kernel permits ten
// at a time.
func slowDisk(t testing.TB, dir string) (join string) {
	t.Helper()
	out := testkit.Run(t, "sh", "-c", `lsblk -ndo MAJ:MIN "$(df --output=source "$0" | tail -n 1)"`, dir)
	device := strings.TrimSpace(out.Stdout)
	for file, limit := range map[string]string{
		"/sys/fs/cgroup/blkio/%s/blkio.throttle.read_iops_device": device + " 100",
		"/sys/fs/cgroup/%s/io.max":                                device + " riops=100",
	} {
		file = fmt.Sprintf(file, "ppscript-fio-"+strconv.Itoa(os.Getpid()))
		group := filepath.Dir(file)
		if os.Mkdir(group, 0o755) != nil {
			continue
		}
		t.Cleanup(func() {
			for range 100 {
				if os.Remove(group) == nil {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
		if os.WriteFile(file, []byte(limit), 0) == nil {
			return "echo $$ >" + group + "/cgroup.procs"
		}
	}
	t.Skipf("no cgroup can bound reads of %s (device %q)", dir, device)
	return ""
}

// boundsReads skips a test if the cgroup accepts a limit of reads but does not enforce it.
func boundsReads(t testing.TB, dir, join string) {
	t.Helper()
	file := filepath.Join(dir, "tried")
	if err := os.WriteFile(file, make([]byte, 40*4096), 0o600); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	read := "; sync " + file + "; exec dd if=" + file + " of=/dev/null bs=4k iflag=direct"
	testkit.Run(t, "sh", "-c", join+read).Want(t, 0)
	if took := time.Since(begin); took < 200*time.Millisecond {
		t.Skipf("this machine's disk is read 40 times in %v by a cgroup that may do so 100 times a second", took)
	}
}

// The reported length of reads from a slow disk equals fio's measurement, and nearly all of it is
// waiting for the disk, or for the kernel's worker that holds requests back.
func TestFioOfASlowDisk(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.Fio)...)
	dir := t.TempDir()
	join := slowDisk(t, dir)
	boundsReads(t, dir, join)
	testkit.Again(t, func() (wrong []string) {
		log := filepath.Join(dir, "log")
		fio := "exec fio --name=t --directory=" + dir + " --size=1M --bs=4k --rw=randread --direct=1" +
			" --ioengine=psync --thread --number_ios=100 --output=/dev/null --write_lat_log=" + log
		out := testkit.Run(t, testkit.PPScript(t), "why", "--syscall", "pread64", "--than", "5ms",
			"--before", "200ms", "--format", "json", "--", "sh", "-c", join+"; "+fio).Want(t, 0)
		text, err := os.ReadFile(log + "_clat.1.log")
		if err != nil {
			t.Fatal(err)
		}
		var slow []int64
		for line := range strings.Lines(string(text)) { // time, ns, ...
			ns, err := strconv.ParseInt(strings.TrimSpace(strings.Split(line, ",")[1]), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if ns > 5_000_000 {
				slow = append(slow, ns)
			}
		}
		told, _, skipped := slowSpans(t, out.Stdout)
		if told == 0 || told+skipped != len(slow) {
			wrong = append(wrong, fmt.Sprintf("got %d slow reads and %d that are not explained, "+
				"want fio's %d", told, skipped, len(slow)))
		}
		waited, all := int64(0), int64(0)
		eachShown(t, out.Stdout, func(s *result.WhySpan) {
			all += s.NS()
			if !slices.ContainsFunc(slow, func(ns int64) bool { return near(s.NS(), ns) }) {
				wrong = append(wrong, fmt.Sprintf("got a read of %d ns, want one of fio's, %d", s.NS(), slow))
			}
			for i := range s.Parts {
				// The worker waits for a timer while it holds back reads above the cgroup's limit.
				first := s.Parts[i].Path[0]
				worker := strings.HasPrefix(first.Whom.Comm, "kworker")
				if first.Kind == result.WhyDisk || first.Kind == result.WhyThread && worker {
					waited += s.Parts[i].NS()
				}
			}
		})
		behind := causesOf(t, out.Stdout)[result.WhyBehind]
		if waited+behind < all/2 || waited == 0 {
			wrong = append(wrong, fmt.Sprintf("got %d ns of waiting for the disk or its worker, "+
				"and %d for a CPU, of %d\n%s", waited, behind, all, out.Stdout))
		}
		return wrong
	})
}

// perfCalls adds up number and time of the calls with one name in perf script's output.
func perfCalls(t testing.TB, file, call string) (n int, ns int64) {
	t.Helper()
	out := testkit.Run(t, "perf", "script", "--ns", "-i", file, "-F", "tid,time,event").Want(t, 0)
	begun := map[string]int64{}
	for line := range strings.Lines(out.Stdout) {
		words := strings.Fields(line)
		if len(words) < 3 {
			continue
		}
		at, err := strconv.ParseInt(strings.ReplaceAll(strings.TrimSuffix(words[1], ":"), ".", ""), 10, 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		switch {
		case strings.Contains(words[2], "sys_enter_"+call):
			begun[words[0]] = at
		case begun[words[0]] != 0:
			n++
			ns += at - begun[words[0]]
			begun[words[0]] = 0
		}
	}
	return n, ns
}

// The reported length of SQLite's commits equals perf's; each is explained completely, and a part
// is the disk.
func TestCommitsOfSQLite(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.SQLite, testkit.Perf)...)
	testkit.Again(t, func() (wrong []string) {
		dir := t.TempDir()
		data := filepath.Join(dir, "perf.data")
		sql := "pragma journal_mode=wal; pragma synchronous=full; create table t(a);" +
			strings.Repeat("insert into t values (randomblob(2000));", 8)
		const call = "fdatasync"
		out := testkit.Run(t, "perf", "record", "-q", "-e",
			"syscalls:sys_enter_"+call+",syscalls:sys_exit_"+call, "-o", data, "--",
			testkit.PPScript(t), "why", "--syscall", call, "--than", "1ns", "--before", "30ms",
			"--format", "json", "--", "sqlite3", filepath.Join(dir, "db"), sql).Want(t, 0)
		n, ns := perfCalls(t, data, call)
		told, toldNS, skipped := slowSpans(t, out.Stdout)
		if told+skipped != n || n < 8 || skipped == 0 && !near(toldNS, ns) {
			wrong = append(wrong, fmt.Sprintf("got %d calls of %d ns and %d that are not explained, "+
				"want perf's %d of %d ns", told, toldNS, skipped, n, ns))
		}
		if causesOf(t, out.Stdout)[result.WhyDisk] == 0 {
			wrong = append(wrong, "no commit waited for the disk\n"+out.Stdout)
		}
		return wrong
	})
}

// project makes a C project with files that compile quickly, and one that does
// not.
func project(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// Other users of this machine may build something too, so the programs of the first and the
	// last step have names of their own.
	for name, program := range map[string]string{"builder": "make", "linker": "gcc"} {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write("main.c", "int main(void) { return 0; }\n")
	for i := range 3 {
		write(fmt.Sprintf("small%d.c", i), fmt.Sprintf("int small%d(int x) { return x + %d; }\n", i, i))
	}
	var large strings.Builder
	for i := range 150 {
		fmt.Fprintf(&large, "int f%d(int *a, int n) { int s = 0; "+
			"for (int j = 0; j < n; j++) s += a[j] * %d ^ s >> 3; return s; }\n", i, i)
	}
	write("large.c", large.String())
	write("Makefile", "program: main.o large.o small0.o small1.o small2.o\n\t./linker -o $@ $^\n"+
		"%.o: %.c\n\tgcc -O2 -c -o $@ $<\n")
	return dir
}

// The link step of a project that make builds with four jobs is late because one file takes long to
// compile: the chain of waiting processes leads from the linker through make to that file's
// compiler.
func TestLinkStepOfMake(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.GCC, testkit.Program("make"))...)
	testkit.Again(t, func() (wrong []string) {
		dir := project(t)
		file := filepath.Join(dir, "make.data")
		// Only the chain of waiting is checked, because events of system calls might be lost
		// on a busy machine.
		const events = "sched:sched_switch,sched:sched_waking,sched:sched_wakeup_new," +
			"sched:sched_migrate_task,sched:sched_process_exec"
		args := append([]string{testkit.PPScript(t), "record", "-a", "-e", events, "-o", file}, bigRings...)
		args = append(args, "--", filepath.Join(dir, "builder"), "-s", "-j4", "-C", dir)
		testkit.Run(t, args...).Want(t, 0)
		step := func(name string) string {
			return `sched:sched_process_exec/filename~"*/` + name + `"/key=0/`
		}
		out := testkit.Run(t, testkit.PPScript(t), "--input", file, "why", "-e", step("builder"),
			"-e", step("linker"), "--than", "1ms", "--format", "json").Want(t, 0)
		spans := 0
		eachShown(t, out.Stdout, func(s *result.WhySpan) {
			spans++
			for _, w := range checkSum(s) {
				t.Error(w)
			}
			by := map[string]int64{}
			for i := range s.Parts {
				by[chain(&s.Parts[i])] += s.Parts[i].NS()
			}
			longest := ""
			for names, ns := range by {
				if longest == "" || ns > by[longest] {
					longest = names
				}
			}
			names := strings.Split(longest, ">")
			if !slices.Contains(names, "builder") || names[len(names)-1] != "cc1" || by[longest] < s.NS()/3 {
				wrong = append(wrong, fmt.Sprintf("got most, %d ns, by %s, want make that waits for cc1\n%s",
					by[longest], longest, story(s)))
			}
		})
		if spans != 1 {
			wrong = append(wrong, fmt.Sprintf("got %d spans, want 1:\n%s%s", spans, out.Stdout, out.Stderr))
		}
		return wrong
	})
}
