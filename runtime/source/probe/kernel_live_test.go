package probe

import (
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/stack/symbol"
	"ppscript/runtime/system/workload"
	"ppscript/tests/testkit"

	"golang.org/x/sys/unix"
)

// These tests run in a guest too, where there is no compiler: the observed
// program is the test itself.

// syscallFunction is the function of a system call in the kernel.
func syscallFunction(name string) string {
	if runtime.GOARCH == "arm64" {
		return "__arm64_sys_" + name
	}
	return "__x64_sys_" + name
}

// onThread keeps the goroutine on its thread and returns the thread's id.
func onThread(t testing.TB) int {
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	return unix.Gettid()
}

func TestKprobe(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Kprobes)
	tid := onThread(t)
	const calls = 1000
	fn := syscallFunction("getpgid")
	r := resolver(t)
	r.Kernel = symbol.NewKernel("")
	addr, ok := r.Kernel.Address(fn)
	if !ok {
		testkit.Requires(t, testkit.Optional("the address of "+fn, r.Kernel.Err()))
		t.Fatalf("no address of %s", fn)
	}
	specs := []Spec{
		{Kind: Kprobe, Name: fn},
		{Kind: Kretprobe, Name: fn, Ret: "int"},
		{Kind: Kprobe, Name: "0x" + hex(addr)},
		{Kind: Kprobe, Name: fn[:len(fn)-3] + "g[h-j]d"},
	}
	var probes []*Probe
	for _, s := range specs {
		ps, err := r.Resolve(s)
		if err != nil {
			t.Fatalf("%v: %v", s, err)
		}
		probes = append(probes, ps...)
	}
	if len(probes) != 4 {
		t.Fatalf("got %d probes, want 4", len(probes))
	}
	pgid, _ := unix.Getpgid(0)
	hits := record(t, probes, perf.Target{TIDs: []int{tid}}, func() {
		for range calls {
			unix.RawSyscall(unix.SYS_GETPGID, 0, 0, 0)
		}
	}, func(i int, e *event.Event) {
		switch i {
		case 0:
			if num(t, e, "arg1") == 0 || uint64(num(t, e, "ip")) < 1<<63 {
				t.Errorf("got arg1 %#x at %#x, want the registers of the call",
					num(t, e, "arg1"), num(t, e, "ip"))
			}
		case 1:
			if got := num(t, e, "result"); got != int64(pgid) {
				t.Errorf("got result %d, want %d", got, pgid)
			}
		}
	})
	for i, n := range hits {
		if n != calls {
			t.Errorf("probe %d (%v): got %d hits, want %d", i, specs[i], n, calls)
		}
	}
}

// The first argument of a function of the kernel, known from here.
func TestKprobeArgument(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Kprobes)
	tid := onThread(t)
	ps := resolve(t, Spec{Kind: Kprobe, Name: "do_sys_openat2", Args: "int dfd, char *path"})
	const path = "/ppscript/no such file"
	hits := 0
	record(t, ps, perf.Target{TIDs: []int{tid}}, func() {
		for range 5 {
			if _, err := unix.Openat(-100, path, unix.O_RDONLY, 0); err == nil {
				t.Error("the file is there")
			}
		}
	}, func(_ int, e *event.Event) {
		if text(t, e, "path") == path && num(t, e, "dfd") == -100 {
			hits++
		}
	})
	if hits != 5 {
		t.Errorf("got %d hits with the arguments, want 5", hits)
	}
}

func TestKprobeRefusals(t *testing.T) {
	r := resolver(t)
	for name, want := range map[string]string{
		"do_sys_openat22": "did you mean do_sys_openat2?",
		"x*":              "functions match",
		"zz??zz*":         "no function matches",
	} {
		if _, err := r.pmu("kprobe"); err != nil {
			want = "CONFIG_KPROBES"
		}
		_, err := r.Resolve(Spec{Kind: Kprobe, Name: name})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}

// A kernel variable that every fork counts up.
func TestBreakpointKernel(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Breakpoints)
	r := resolver(t)
	r.Kernel = symbol.NewKernel("")
	if _, ok := r.Kernel.Address("total_forks"); !ok {
		testkit.Requires(t, testkit.Optional("total_forks in kallsyms",
			errors.New("a kernel with CONFIG_KALLSYMS_ALL")))
	}
	ps, err := r.Resolve(Spec{Kind: Breakpoint, Name: "total_forks", Len: 8, Access: "w"})
	if err != nil {
		t.Fatal(err)
	}
	const forks = 7
	mine := 0
	// Forks are counted in the thread that forks.
	record(t, ps, perf.Target{TIDs: []int{onThread(t)}}, func() {
		for range forks {
			if err := exec.Command("/proc/self/exe", "-test.run", "^$").Run(); err != nil {
				t.Error(err)
			}
		}
	}, func(_ int, e *event.Event) {
		if int(e.PID) == os.Getpid() {
			mine++
		}
		if uint64(num(t, e, "ip")) < 1<<63 {
			t.Errorf("got ip %#x, want one of the kernel", num(t, e, "ip"))
		}
	})
	if mine < forks { // and the runtime may start threads
		t.Errorf("got %d forks of ours, want at least %d", mine, forks)
	}
}

type worker struct{ n int }

// Method is observed; a and text are its arguments, the first is w.
//
//go:noinline
func (w *worker) Method(a int, text string) (int, string) {
	if a%3 == 0 {
		return a * 2, text
	}
	w.n++
	return a + 1, "other"
}

const method = "ppscript/runtime/source/probe.(*worker).Method"

// Go functions by name, with arguments and results in Go's registers. The
// kernel's return probes would kill this very process.
func TestGoFunction(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Uprobes)
	if hostMachine() != elf.EM_X86_64 && hostMachine() != elf.EM_AARCH64 {
		testkit.Requires(t, testkit.Optional("a known calling convention",
			errors.New("this is "+runtime.GOARCH)))
	}
	tid := onThread(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const calls = 300
	entries := resolve(t, Spec{Kind: Uprobe, File: exe, Name: method})
	returns := resolve(t, Spec{Kind: Uretprobe, File: exe, Name: method})
	if len(entries) != 1 || len(returns) < 1 {
		t.Fatalf("got %d and %d probes, want one entry and some returns", len(entries), len(returns))
	}
	if !strings.Contains(returns[0].Note, "return instructions") {
		t.Errorf("got note %q, want the reason", returns[0].Note)
	}
	w := &worker{}
	in, out := 0, 0
	hits := record(t, append(entries, returns...), perf.Target{TIDs: []int{tid}}, func() {
		for i := range calls {
			w.Method(i, "four")
		}
	}, func(at int, e *event.Event) {
		if at == 0 {
			if a, n := num(t, e, "arg2"), num(t, e, "arg4"); a != int64(in) || n != 4 {
				t.Errorf("call %d: got a %d, len(text) %d, want %d and 4", in, a, n, in)
			}
			in++
			return
		}
		out++
	})
	if hits[0] != calls || out != calls {
		t.Errorf("got %d entries and %d returns, want %d of each", hits[0], out, calls)
	}
	results := map[int64]int{}
	record(t, returns, perf.Target{TIDs: []int{tid}}, func() {
		for i := range 6 {
			w.Method(i, "four")
		}
	}, func(_ int, e *event.Event) {
		results[num(t, e, "retval")]++
		if num(t, e, "g") == 0 {
			t.Error("got no goroutine")
		}
	})
	for _, v := range []int64{0, 2, 3, 6, 5} { // of 0 1 2 3 4 5: 0 2 3 6 5 6
		if results[v] == 0 {
			t.Errorf("got results %v, want a %d", results, v)
		}
	}
}

// Threads and children that a traced program makes, which inherited probes
// would break.
func TestUprobeFollows(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Uprobes)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(followEnv, "1")
	probes := resolve(t, Spec{Kind: Uprobe, File: exe, Name: method})
	for _, where := range []string{"", "elsewhere"} {
		t.Setenv(elsewhereEnv, where)
		w := &workload.Command{Args: []string{exe, "-test.run", "^TestFollowed$"}}
		if n := count(t, probes, perf.Target{Workload: w}); n != 4*50+3*25 {
			t.Errorf("%s: got %d hits, want %d of threads and children", where, n, 4*50+3*25)
		}
	}
}

const (
	followEnv = "PPSCRIPT_TEST_FOLLOWED"
	// elsewhereEnv has another thread than the main one execute the command,
	// which then has the main one's number.
	elsewhereEnv = "PPSCRIPT_TEST_ELSEWHERE"
)

// TestFollowed is the program of TestUprobeFollows: 50 calls on each of four
// threads, 25 in each of three children.
func TestFollowed(t *testing.T) {
	switch os.Getenv(followEnv) {
	case "":
		return // it does its work in a process that TestUprobeFollows starts
	case "child":
		for i := range 25 {
			(&worker{}).Method(i, "")
		}
		return
	}
	done := make(chan int)
	for range 4 {
		go func() {
			runtime.LockOSThread()
			for i := range 50 {
				(&worker{}).Method(i, "")
			}
			done <- 0
		}()
	}
	for range 4 {
		<-done
	}
	for range 3 {
		cmd := exec.Command("/proc/self/exe", "-test.run", "^TestFollowed$")
		cmd.Env = append(os.Environ(), followEnv+"=child")
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKillLeavesNothing(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Uprobes)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run", "^TestHolder$")
	cmd.Env = append(os.Environ(), holdEnv+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var b [5]byte
	if _, err := out.Read(b[:]); err != nil || string(b[:]) != "ready" {
		t.Fatalf("got %q, %v, want ready", b, err)
	}
	if during := definitions(t, exe); during != "" {
		t.Errorf("while probes are open: got definitions %q, want none", during)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // it was killed
	if after := definitions(t, exe); after != "" {
		t.Errorf("after kill -9: got definitions %q, want none", after)
	}
}

const holdEnv = "PPSCRIPT_TEST_HOLDER"

// TestHolder opens probes and waits to be killed.
func TestHolder(t *testing.T) {
	if os.Getenv(holdEnv) == "" {
		return // it does its work in a process that TestKillLeavesNothing starts
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	probes := resolve(t, Spec{Kind: Uprobe, File: exe, Name: method})
	if _, err := (&Resolver{}).pmu("kprobe"); err == nil {
		probes = append(probes, resolve(t, Spec{Kind: Kprobe, Name: syscallFunction("getpgid")})...)
	}
	record(t, probes, perf.Target{TIDs: []int{unix.Gettid()}}, func() {
		os.Stdout.WriteString("ready")
		time.Sleep(time.Minute)
	}, nil)
}

// definitions are the dynamic events of a program that tracefs has. Others make
// some of theirs at the same time.
func definitions(t testing.TB, program string) string {
	t.Helper()
	all := ""
	for _, name := range []string{"uprobe_events", "kprobe_events", "dynamic_events"} {
		b, err := os.ReadFile("/sys/kernel/tracing/" + name)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if strings.Contains(line, program) {
				all += line
			}
		}
	}
	return all
}

func TestNoDescriptorsLeak(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Uprobes)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	once := func() {
		r := &Resolver{}
		defer r.Close()
		for _, s := range []Spec{{Kind: Uprobe, File: exe, Name: method},
			{Kind: Uretprobe, File: exe, Name: method},
			{Kind: Uprobe, File: exe, Name: "nosuch"}, {Kind: USDT, File: exe, Name: "x"}, {Kind: Uprobe, File: "/etc/passwd", Name: "x"}} {
			ps, err := r.Resolve(s)
			if err == nil {
				record(t, ps, perf.Target{TIDs: []int{unix.Gettid()}}, func() {}, nil)
			}
		}
	}
	once()       // the first use of the network poller makes some
	runtime.GC() // files that are collected in between are no leak of theirs
	before := open()
	for range 5 {
		once()
	}
	if after := open(); after > before {
		t.Errorf("got %d descriptors, want the %d of before", after, before)
	}
}
