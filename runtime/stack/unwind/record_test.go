package unwind

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// compilers build the programs.
var compilers = map[string]testkit.Need{
	"gcc": testkit.GCC, "g++": testkit.GXX, "rustc": testkit.Rustc, "go": testkit.Go,
}

func run(t testing.TB, name string, arg ...string) string {
	t.Helper()
	out, err := exec.Command(name, arg...).Output()
	if err != nil {
		detail := ""
		if e, ok := err.(*exec.ExitError); ok {
			detail = string(e.Stderr)
		}
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(arg, " "), err, detail)
	}
	return string(out)
}

// recordProgram builds a program and records it with copies of its stack.
// Build-ids are left out: perf keeps them in a directory that all its runs
// share, and breaks in it.
func recordProgram(t testing.TB, build ...string) (prog, data string) {
	t.Helper()
	testkit.Requires(t, testkit.Root, testkit.Perf, compilers[build[0]])
	dir := t.TempDir()
	prog, data = filepath.Join(dir, "prog"), filepath.Join(dir, "perf.data")
	cmd := exec.Command(build[0], append(build[1:], "-o", prog)...)
	if strings.HasPrefix(build[0], "go") {
		last := len(build) - 1
		cmd = exec.Command(build[0], append(append(build[1:last:last], "-o", prog), build[last])...)
	}
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(build, " "), err, text)
	}
	run(t, "perf", "record", "-q", "-B", "-N", "--no-bpf-event", "-m", "4096", "-e", "cpu-clock:u", "-F", "397", "--call-graph", "dwarf,16384", "-o", data, prog, "0.4")
	return prog, data
}

// perfStacks are the stacks that perf unwinds, innermost first.
func perfStacks(t testing.TB, data string) (all [][]string) {
	t.Helper()
	out := run(t, "perf", "script", "-i", data, "-F", "comm,tid,time,ip,sym", "--no-inline")
	for line := range strings.Lines(out) {
		text := strings.TrimSpace(line)
		switch {
		case text == "":
		case line[0] != ' ' && line[0] != '\t':
			all = append(all, nil)
		default:
			_, name, _ := strings.Cut(text, " ")
			switch {
			case name == "@plt":
				name = "*@plt" // as we call a stub without a symbol
			case !strings.HasSuffix(name, "@plt"):
				name, _, _ = strings.Cut(name, "@") // our names have no version
			}
			all[len(all)-1] = append(all[len(all)-1], name)
		}
	}
	return all
}

// TestStacksAgreeWithPerf checks that stacks of a program without frame pointers are those that
// perf unwinds, frame by frame, and all of them are whole.
func TestStacksAgreeWithPerf(t *testing.T) {
	_, data := recordProgram(t, "gcc", "-O2", "-fomit-frame-pointer", "../symbol/testdata/chain.c")
	r := load(t, data)
	want := perfStacks(t, data)
	if len(want) != len(r.events) || len(want) < 20 {
		t.Fatalf("got %d samples, want %d and at least 20", len(r.events), len(want))
	}
	differ, short := 0, 0
	for i := range r.events {
		addrs, how := r.unwind.Sample(nil, &r.events[i])
		if !how.Whole() {
			short++
		}
		got := strings.Join(r.names(&r.events[i], addrs), " ")
		if got != strings.Join(want[i], " ") {
			if differ++; differ < 4 {
				t.Logf("got  %s (%v)\nwant %s", got, how.Stop, strings.Join(want[i], " "))
			}
		}
	}
	if differ > len(want)/100 || short > len(want)/100 {
		t.Errorf("got %d of %d stacks that differ and %d that are not whole, want at most 1%%",
			differ, len(want), short)
	}
}

// The callers by the programs' sources. Perf of Debian can not unwind the
// static and the Go program at all.
func TestKnownChains(t *testing.T) {
	const start = `( __libc_start_call_main __libc_start_main(_impl)? _start| __libc_start_call_main.*)$`
	chain := `^(leaf( recurse){13} main|(__?memset\S+ |memset\S* )?(recurse ){1,13}main|` +
		`.*compare .*qsort\S*( sorter)? main|.*(msort_with_tmp|qsort|memcpy|malloc|free|sorter)\S*.* main|` +
		`(compare |now |clock_gettime |__vdso_clock_gettime |.*clock_gettime\S* )*main|.*now main)` + start
	// The functions that main.main and its goroutine call, by name: a caller
	// that is left out shows. Go's runtime has other first functions, and
	// leaves the stack of a goroutine in some places.
	const goChain = `^((\S+ )*(main\.\(\*T\)\.Method|main\.build|main\.spent|runtime\.\S+) )?(main\.main runtime\.main|main\.main\.func1) runtime\.goexit(\.abi0)?$` +
		`|^(\S+ )*(runtime\.(goexit|mstart|rt0_go|systemstack|mcall|morestack)(\.abi0)?|_rt0_\w+_linux)$`
	// Before main and behind it: the dynamic linker, and what exit calls.
	around := regexp.MustCompile(
		`(^| )(_start|_dl_start|_dl_start_user|exit|_dl_fini|__do_global_dtors_aux)( |$)`)
	inMain := regexp.MustCompile(
		`(^| )(main|leaf|recurse|sorter|compare|now|thrower\S*|shop::\S*)( |$)`)
	for _, c := range []struct {
		name  string
		match string
		// percent of stacks that may be wrong: while an exception lands (1 in
		// 100 samples of a program that throws all the time), and at a call's
		// first instruction in code without tables, the stack is not as the
		// tables say. Go calls the vDSO on another stack, where the walk ends.
		percent int
		build   []string
	}{
		{"gcc", chain, 1, []string{"gcc", "-O2", "-fomit-frame-pointer", "../symbol/testdata/chain.c"}},
		{"gcc frame pointers", chain, 1, []string{"gcc", "-O2", "-fno-omit-frame-pointer", "../symbol/testdata/chain.c"}},
		{"gcc static", chain, 1, []string{"gcc", "-O2", "-static", "-fomit-frame-pointer", "../symbol/testdata/chain.c"}},
		{"g++", `(^| )main(.cold)?` + start, 4, []string{"g++", "-O2", "../symbol/testdata/shop.cc"}},
		{"rust", ` main` + start, 1, []string{"rustc", "-O", "../symbol/testdata/shop.rs"}},
		{"go", goChain, 1, []string{"go", "build", "../symbol/testdata/shop.go"}},
		{"go stripped", goChain, 1, []string{"go", "build", "-ldflags=-s -w", "../symbol/testdata/shop.go"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name != "gcc" {
				testkit.Requires(t, testkit.Long)
			}
			_, data := recordProgram(t, c.build...)
			r := load(t, data)
			known := regexp.MustCompile(c.match)
			other, seen := 0, map[string]bool{}
			for i := range r.events {
				addrs, how := r.unwind.Sample(nil, &r.events[i])
				names := strings.Join(r.names(&r.events[i], addrs), " ")
				for _, n := range strings.Fields(names) {
					seen[n] = true
				}
				if around.MatchString(names) && !inMain.MatchString(names) {
					continue
				}
				if !known.MatchString(names) && !(how.Stop == OtherStack && strings.HasPrefix(c.name, "go")) {
					if other++; other < 4 {
						t.Logf("got %s (%v at %v)", names, how.Stop,
							r.syms.Resolve(r.events[i].PID, 0, addrs[len(addrs)-1], r.events[i].Time))
					}
				}
			}
			if len(r.events) < 20 || other > max(1, len(r.events)*c.percent/100) {
				t.Errorf("got %d of %d stacks that cannot be, want at most %d %%",
					other, len(r.events), c.percent)
			}
			t.Logf("%d functions, %+v", len(seen), r.unwind.Stats())
		})
	}
}

// A handler's stack goes on through the frame that the kernel made.
func TestSignalFrames(t *testing.T) {
	_, data := recordProgram(t, "gcc", "-O2", "-fomit-frame-pointer", "testdata/signal.c")
	r := load(t, data)
	known := regexp.MustCompile(
		`^in_handler handler \S+ (interrupted |clock\S* |\S*clock_gettime\S* |\[unknown\] )*main __libc_start`)
	through, other := 0, 0
	for i := range r.events {
		addrs, how := r.unwind.Sample(nil, &r.events[i])
		names := strings.Join(r.names(&r.events[i], addrs), " ")
		if !strings.HasPrefix(names, "in_handler") {
			continue
		}
		if through++; !known.MatchString(names) || !how.Whole() {
			if other++; other < 4 {
				t.Logf("got %s (%v)", names, how.Stop)
			}
		}
	}
	if through < 5 || other > through/50 {
		t.Errorf("got %d stacks of the handler, %d of them wrong; want many and none", through, other)
	}
}

// TestShortCopy checks that with less of the stack, the walk finds the beginning of the whole, and
// the reason says so.
func TestShortCopy(t *testing.T) {
	_, data := recordProgram(t, "gcc", "-O2", "-fomit-frame-pointer", "../symbol/testdata/chain.c")
	r := load(t, data)
	cut := 0
	for i := range r.events {
		e := &r.events[i]
		whole, _ := r.unwind.Sample(nil, e)
		l := e.Stream.Members.(sampled)
		stack := l.UserStack(e)
		got, how := r.unwind.Walk(nil, e.PID, e.Time, l.UserMask(), l.UserRegs(e),
			stack[:min(len(stack), 600)])
		if how.Whole() != (len(got) == len(whole)) || how.Stop != End && how.Stop != Truncated {
			t.Fatalf("got %d of %d addresses and %v", len(got), len(whole), how.Stop)
		}
		for j := range got {
			if got[j] != whole[j] {
				t.Fatalf("address %d: got %#x, want %#x", j, got[j], whole[j])
			}
		}
		if how.Stop == Truncated {
			cut++
		}
	}
	if cut < len(r.events)/4 {
		t.Errorf("got %d of %d stacks cut, want many", cut, len(r.events))
	}
}

// In the steady state nothing is allocated.
func TestWalkDoesNotAllocate(t *testing.T) {
	_, data := recordProgram(t, "gcc", "-O2", "-fomit-frame-pointer", "../symbol/testdata/chain.c")
	r := load(t, data)
	dst := make([]uint64, 0, 256)
	for i := range r.events {
		r.unwind.Sample(dst[:0], &r.events[i])
	}
	i := 0
	if n := testing.AllocsPerRun(len(r.events), func() {
		r.unwind.Sample(dst[:0], &r.events[i%len(r.events)])
		i++
	}); n != 0 {
		t.Errorf("got %v allocations for each stack, want 0", n)
	}
}

func BenchmarkUnwind(b *testing.B) {
	_, data := recordProgram(b, "gcc", "-O2", "-fomit-frame-pointer", "../symbol/testdata/chain.c")
	r := load(b, data)
	dst := make([]uint64, 0, 256)
	frames := 0
	for i := range r.events {
		got, _ := r.unwind.Sample(dst[:0], &r.events[i])
		frames += len(got)
	}
	b.ReportAllocs()
	b.ResetTimer()
	i := 0
	for b.Loop() {
		r.unwind.Sample(dst[:0], &r.events[i%len(r.events)])
		i++
	}
	b.ReportMetric(float64(frames)/float64(len(r.events)), "frames/op")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())*float64(len(r.events))/float64(frames)/float64(b.N),
		"ns/frame")
}
