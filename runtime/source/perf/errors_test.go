package perf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/system/workload"
	"ppscript/runtime/target/cgroup"
	"ppscript/runtime/text/diag"
	"ppscript/tests/testkit"

	"golang.org/x/sys/unix"
)

// refused opens cfg, which must fail. It checks the class of the error, and
// that its text and hint contain the words.
func refused(t *testing.T, cfg Config, class diag.Class, words ...string) error {
	t.Helper()
	s, err := Open(context.Background(), cfg)
	if err == nil {
		s.Close()
		t.Fatal("opened, want an error")
	}
	hint := diag.HintOf(err)
	if diag.ClassOf(err) != class || hint == "" {
		t.Errorf("got class %d, hint %q; want class %d and a hint", diag.ClassOf(err), hint, class)
	}
	for _, w := range words {
		if !strings.Contains(err.Error()+"\n"+hint, w) {
			t.Errorf("got %q, hint %q; want %q in it", err, hint, w)
		}
	}
	return err
}

func clock(name string) EventConfig {
	s, err := SoftwareSchema(name)
	if err != nil {
		panic(err)
	}
	return EventConfig{Schema: s}
}

func TestBadRingSizes(t *testing.T) {
	cfg := Config{Events: []EventConfig{clock("cpu-clock")}}
	cfg.Pages = 3
	refused(t, cfg, diag.Usage, "got 3, want a power of two", "-m 2 or -m 4")
	cfg.Pages = -1
	refused(t, cfg, diag.Usage, "got -1")
	cfg.Pages, cfg.Watermark = 1, 200
	refused(t, cfg, diag.Usage, "got 200, want 1 to 100 percent")
}

func TestBadTargets(t *testing.T) {
	needRoot(t)
	ev := []EventConfig{clock("cpu-clock")}
	refused(t, Config{Events: ev, Target: Target{CPUs: []int{0, 99}}}, diag.Usage, "99", "0")
	err := refused(t, Config{Events: ev, Target: Target{PIDs: []int{4194303}}}, diag.Attach,
		"process 4194303: no such process")
	if !errors.Is(err, unix.ESRCH) {
		t.Errorf("got %v, want ESRCH in its chain", err)
	}
	refused(t, Config{Events: ev, Target: Target{TIDs: []int{4194303}}}, diag.Attach, "thread 4194303")
	refused(t, Config{Events: ev, Target: Target{PIDs: []int{1}, Cgroups: []string{"a"}}},
		diag.Usage, "several")
}

func TestBadCgroups(t *testing.T) {
	needRoot(t)
	ev := []EventConfig{clock("cpu-clock")}
	_, _, err := cgroup.Dirs(nil)
	testkit.Requires(t, testkit.Optional("a mount of cgroups", err))
	refused(t, Config{Events: ev, Target: Target{Cgroups: []string{"no-such-cgroup"}}},
		diag.Attach, "no such cgroup")
	refused(t, Config{Events: ev, Target: Target{Cgroups: []string{"no-such-.*"}}},
		diag.Attach, "no such cgroup")
}

func TestBadWorkloads(t *testing.T) {
	needRoot(t)
	open := func(class diag.Class, words []string, args ...string) error {
		t.Helper()
		return refused(t, Config{
			Events: []EventConfig{clock("page-faults")},
			Target: Target{Workload: &workload.Command{Args: args}},
		}, class, words...)
	}
	open(diag.Usage, nil)
	open(diag.Attach, []string{"nosuchprogram-anywhere", "not found"}, "nosuchprogram-anywhere")
	open(diag.Attach, []string{"/nosuchdir/x"}, "/nosuchdir/x", "arg")
	file := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(file, []byte("#!/nosuchinterpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := open(diag.Attach, []string{"no such file"}, file); !errors.Is(err, unix.ENOENT) {
		t.Errorf("got %v, want ENOENT in its chain", err)
	}
}

func TestBadFilterSpeaksTheKernelsWords(t *testing.T) {
	needRoot(t)
	for _, c := range []struct{ filter, words string }{
		{"nosuch == 1", "no such field nosuch"},
		{"id == 1 && (id ==", "too many '('"},
		{"id ~ \"x*\"", "expecting numeric field, at"},
	} {
		cfg := Config{
			Events: []EventConfig{getppid(t, 0)}, Target: Target{CPUs: []int{0}}, Tracefs: tracefsRoot,
		}
		cfg.Events[0].Filter = c.filter
		err := refused(t, cfg, diag.Usage, "raw_syscalls:sys_enter", c.filter[:4], c.words,
			"the fields are id")
		if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
			t.Errorf("%s: got %v, want EINVAL or ENOENT in its chain", c.filter, err)
		}
		cfg.Tracefs = ""
		refused(t, cfg, diag.Usage, "the kernel does not understand it")
	}
	left, _ := filepath.Glob(fmt.Sprintf("%s/instances/ppscript-%d-*", tracefsRoot, os.Getpid()))
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	refused(t, Config{Events: []EventConfig{{Schema: clock("cs").Schema, Filter: "x == 1"}}}, diag.Usage,
		"only tracepoints")
}

func TestBadFrequency(t *testing.T) {
	needRoot(t)
	ev := clock("cpu-clock")
	ev.Freq = 100_000_000
	refused(t, Config{Events: []EventConfig{ev}}, diag.Usage, "got 100000000 Hz, want at most", "-F ")
	ev.Period = 5
	refused(t, Config{Events: []EventConfig{ev}}, diag.Usage, "both a period and a frequency")
}

func TestAbsentEvents(t *testing.T) {
	needRoot(t)
	gone := EventConfig{Schema: &event.Schema{
		System: "a", Name: "b", Type: unix.PERF_TYPE_TRACEPOINT, ID: 999999,
	}}
	refused(t, Config{Events: []EventConfig{gone}}, diag.Attach, "no tracepoint with id 999999")
	if s, err := HardwareSchema("cycles"); err != nil {
		t.Error(err)
	} else if src, err := Open(context.Background(), Config{Events: []EventConfig{{Schema: s}}}); err == nil {
		src.Close() // this machine has a PMU
	} else {
		refused(t, Config{Events: []EventConfig{{Schema: s}}}, diag.Attach, "no hardware counter",
			"software:cpu-clock")
	}
	gone.Optional = true
	src := openSource(t, Config{Events: []EventConfig{gone, clock("cpu-clock")}})
	if len(src.Streams()) != 1 || src.StreamOf(0) != nil || src.StreamOf(1) != src.Streams()[0] ||
		len(src.Warnings()) != 1 {
		t.Errorf("got %d streams, warnings %v; want one of each", len(src.Streams()), src.Warnings())
	}
	refused(t, Config{Events: []EventConfig{gone}}, diag.Attach, "no tracepoint with id 999999")
}

// An event that no user can sample is an error with the cause; if it was found
// by a pattern, it is left out.
func TestEventsThatAreCountedOnly(t *testing.T) {
	needRoot(t)
	_, err := os.Stat("/sys/kernel/tracing/events/irq_vectors/irq_work_exit")
	testkit.Requires(t, testkit.Optional("irq_vectors:irq_work_exit", err))
	ev := EventConfig{Schema: tracepoint(t, "irq_vectors:irq_work_exit", "vector")}
	refused(t, Config{Events: []EventConfig{ev}}, diag.Attach, "lets it be counted, not sampled",
		"ppscript stat -e irq_vectors:irq_work_exit")
	leftOut(t, ev, "lets it be counted")
}

// The formats that the kernel's own tracers have in tracefs, ftrace:bprint among
// them, have numbers that are no tracepoint's.
func TestEventsWithoutTracepoint(t *testing.T) {
	needRoot(t)
	schema := *tracepoint(t, "sched:sched_switch", "next_pid")
	schema.System, schema.Name, schema.ID = "ftrace", "bprint", 999999
	ev := EventConfig{Schema: &schema}
	refused(t, Config{Events: []EventConfig{ev}}, diag.Attach, "no tracepoint with id", "ppscript list")
	leftOut(t, ev, "no tracepoint with id")
}

// leftOut opens an event that no user can open, found by a pattern. It is left
// out with a warning, unless it is the only event of the pattern.
func leftOut(t *testing.T, ev EventConfig, why string) {
	t.Helper()
	ev.Pattern = "irq_vectors:*"
	other := EventConfig{Schema: tracepoint(t, "sched:sched_switch", "next_pid"), Pattern: ev.Pattern}
	src := openSource(t, Config{Events: []EventConfig{ev, other}})
	if src.StreamOf(0) != nil || src.StreamOf(1) == nil || len(src.Warnings()) != 1 {
		t.Fatalf("got streams %v %v, warnings %v; want the second and one warning", src.StreamOf(0),
			src.StreamOf(1), src.Warnings())
	}
	var left *LeftOut
	if err := src.Warnings()[0]; !errors.As(err, &left) || left.Pattern != ev.Pattern ||
		!strings.Contains(err.Error(), why) {
		t.Errorf("got the warning %v, want that %s", err, why)
	}
	refused(t, Config{Events: []EventConfig{ev, clock("cpu-clock")}}, diag.Attach, why)
}

// The errors of a PMU that only counts, and of one that counts only for CPUs,
// say so.
func TestPMUThatOnlyCounts(t *testing.T) {
	needRoot(t)
	stamps := func(terms string) EventConfig {
		t.Helper()
		device, name, _ := strings.Cut(terms, "/")
		list, err := kernel.NamedEvents(kernel.Roots{}, device, name)
		testkit.Requires(t, testkit.Optional("event "+terms, err))
		e := list[0]
		schema := &event.Schema{System: "pmu", Name: terms, Type: e.PMU.Type, ID: e.Config[0]}
		return EventConfig{Schema: schema, CPUs: e.CPUs}
	}
	sampled := stamps("msr/tsc")
	sampled.Period = 1000
	refused(t, Config{Events: []EventConfig{sampled}}, diag.Usage, "this PMU counts, and takes no samples")

	energy := stamps("power/energy-psys")
	cfg := Config{Events: []EventConfig{energy}, Target: Target{PIDs: []int{os.Getpid()}}}
	c, err := OpenCounters(t.Context(), cfg)
	if err == nil {
		c.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "counts what CPUs do") || diag.HintOf(err) == "" {
		t.Errorf("got error %v, want that the PMU counts what CPUs do, with a hint", err)
	}
}

func TestEventOnOtherCPUs(t *testing.T) {
	needRoot(t)
	ev := clock("cpu-clock")
	ev.CPUs = []int{1000}
	refused(t, Config{Events: []EventConfig{ev}}, diag.Usage, "none of them is among")
	ev.CPUs = []int{0}
	refused(t, Config{Events: []EventConfig{ev}, Target: Target{TIDs: []int{os.Getpid()}}},
		diag.Usage, "threads")
	s := openSource(t, Config{Events: []EventConfig{ev}})
	if len(s.Rings()) != 1 {
		t.Errorf("got %d rings, want that of CPU 0", len(s.Rings()))
	}
}

func TestTooManyFiles(t *testing.T) {
	needRoot(t)
	if os.Getenv("PERF_TEST_NOFILE") == "" {
		runSelf(t, nil, "PERF_TEST_NOFILE=1")
		return
	}
	var old unix.Rlimit
	unix.Getrlimit(unix.RLIMIT_NOFILE, &old)
	entries, _ := os.ReadDir("/proc/self/fd")
	unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(len(entries) + 3), Max: old.Max})
	evs := make([]EventConfig, 20)
	for i := range evs {
		evs[i] = clock("cpu-clock")
	}
	_, err := Open(context.Background(), Config{Events: evs})
	unix.Setrlimit(unix.RLIMIT_NOFILE, &old)
	if !errors.Is(err, unix.EMFILE) || !strings.Contains(diag.HintOf(err), "ulimit -n") {
		t.Errorf("got %v, hint %q; want EMFILE and ulimit -n", err, diag.HintOf(err))
	}
}

// TestOrdinaryUser runs as the user nobody in a separate process.
func TestOrdinaryUser(t *testing.T) {
	if os.Getenv("PERF_TEST_NOBODY") == "" {
		needRoot(t)
		runSelf(t, &syscall.Credential{Uid: 65534, Gid: 65534, NoSetGroups: true}, "PERF_TEST_NOBODY=1")
		return
	}
	if level := readInt("/proc/sys/kernel/perf_event_paranoid", 2); level < 1 {
		testkit.Requires(t, testkit.Optional("kernel.perf_event_paranoid of 1 or more",
			fmt.Errorf("it is %d", level)))
	}
	cpu := clock("cpu-clock")
	err := refused(t, Config{Events: []EventConfig{cpu}}, diag.Attach, "perf_event_paranoid is",
		"setcap cap_perfmon")
	if !errors.Is(err, unix.EACCES) {
		t.Errorf("got %v, want EACCES in its chain", err)
	}
	tp := EventConfig{Schema: &event.Schema{
		System: "sched", Name: "sched_switch", Type: unix.PERF_TYPE_TRACEPOINT, ID: 1,
	}}
	refused(t, Config{Events: []EventConfig{tp}, Target: Target{TIDs: []int{os.Getpid()}}},
		diag.Attach, "CAP_PERFMON")
	if level := readInt("/proc/sys/kernel/perf_event_paranoid", 2); level > 2 {
		return // Debian's addition: nothing is allowed
	}
	// Own threads without the kernel part work, with rings up to the limit.
	cpu.Exclude.Kernel = true
	own := Config{Events: []EventConfig{cpu}, Target: Target{TIDs: []int{os.Getpid()}}}
	openSource(t, own)
	own.Pages = 1 << 14
	err = refused(t, own, diag.Attach, "perf_event_mlock_kb", "smaller -m")
	if !errors.Is(err, unix.EPERM) {
		t.Errorf("got %v, want EPERM in its chain", err)
	}
}

// runSelf runs this test alone in another process.
func runSelf(t *testing.T, cred *syscall.Credential, env string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Only this user can read the directory of the binary; /proc/self/exe is
	// readable.
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Args[0] = filepath.Base(exe)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), env)
	if cred != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	} else if strings.Contains(string(out), "--- SKIP") {
		testkit.Requires(t, testkit.Optional("what the other process needs", fmt.Errorf("%s", out)))
	}
}

func TestFilterErrorText(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"pit == 1\n    ^\nparse_error: Field not found\n", "no such field pit (did you mean pid?)"},
		{"id == 1 && x == 1\n             ^\nparse_error: Field not found\n", "no such field x"},
		{"(pid == 1\n^\nparse_error: Too many '('\n", `too many '(', at "(pid == 1"`},
		{"id ==\n     ^\nparse_error: Invalid value\n", "invalid value, at the end"},
		{"none\n", ""},
	} {
		if got := parseFilterError(c.text, []string{"pid", "comm"}); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}
