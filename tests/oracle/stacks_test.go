package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"ppscript/tests/testkit"
)

// compiled builds a program of testdata with more flags.
func compiled(t *testing.T, source string, flags ...string) string {
	t.Helper()
	cc, need := "gcc", testkit.GCC
	if strings.HasSuffix(source, ".cc") {
		cc, need = "g++", testkit.GXX
	}
	testkit.Requires(t, need)
	out := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(source), filepath.Ext(source)))
	cmd := exec.Command(cc, append(flags, "-o", out, filepath.Join("testdata", source))...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", source, err, text)
	}
	return out
}

// folded reads folded stacks.
func folded(t *testing.T, path string) map[string]int64 {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		at := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseInt(strings.TrimSpace(line[at+1:]), 10, 64)
		if err != nil {
			t.Fatalf("folded line %q: %v", line, err)
		}
		sums[line[:at]] += n
	}
	return sums
}

var frameLine = regexp.MustCompile(`^\s+([0-9a-f]+) (.*?)(\+0x[0-9a-f]+)? \((.*)\)$`)

// perfFolded folds perf script's stacks of a recording, in ppscript's notation.
// An address without a name is "?"; address 0, which perf shows, is left out.
func perfFolded(t *testing.T, data string) map[string]int64 {
	t.Helper()
	out := testkit.Run(t, "perf", "script", "-i", data, "-F", "comm,ip,sym,symoff,dso", "--no-inline").
		Want(t, 0)
	sums := map[string]int64{}
	escape := strings.NewReplacer(";", ":")
	for _, sample := range strings.Split(strings.TrimSpace(out.Stdout), "\n\n") {
		lines := strings.Split(sample, "\n")
		path := []string{escape.Replace(strings.TrimSpace(lines[0]))}
		for _, l := range slices.Backward(lines[1:]) {
			m := frameLine.FindStringSubmatch(l)
			switch {
			case m == nil:
				t.Fatalf("perf script: got frame %q", l)
			case strings.Trim(m[1], "0") == "":
			case m[2] == "[unknown]":
				path = append(path, "?")
			default:
				path = append(path, escape.Replace(comparable(m[2])))
			}
		}
		sums[strings.Join(withoutPrograms(path), ";")]++
	}
	return sums
}

// comparable normalizes intended differences to perf, which demangles no names
// with @plt, and cuts Go's instances in the middle of their types.
func comparable(name string) string {
	// The last instruction of _start in the dynamic linker is a call: it returns
	// to _dl_start_user, and perf takes that function for the caller. If the
	// start takes long, there are such samples.
	if name == "_dl_start_user" {
		return "_start"
	}
	name, _, _ = strings.Cut(name, "[go.shape")
	return strings.TrimSuffix(name, "@plt")
}

// nameless replaces ppscript's placeholders for code without a name by "?".
func nameless(sums map[string]int64) map[string]int64 {
	out := map[string]int64{}
	for path, n := range sums {
		names := strings.Split(path, ";")
		for i, name := range names {
			if i > 0 && (name == "[unknown]" ||
				strings.HasPrefix(name, "[") && strings.HasSuffix(name, "]")) {
				names[i] = "?"
			}
			names[i] = comparable(names[i])
		}
		out[strings.Join(withoutPrograms(names), ";")] += n
	}
	return out
}

// withoutPrograms cuts a stack where the kernel calls BPF programs: they belong
// to other tracers, and may have ended, with their names, when one of the tools
// looks them up.
func withoutPrograms(path []string) []string {
	for i, name := range path {
		if i > 0 && (strings.HasPrefix(strings.TrimLeft(name, "_"), "bpf_") ||
			strings.HasPrefix(name, "trace_call_bpf")) {
			return path[:i]
		}
	}
	return path
}

// The stacks that ppscript counts in a recording equal perf script's, frame by
// frame. Differences are allowed for aliases, of which each chooses one, and
// for the vdso, which perf names from its own. If a function's last instruction
// is a call, as in the dynamic linker's _start, perf names the function after
// it.
func TestFoldedEqualsPerfScript(t *testing.T) {
	live(t, testkit.Perf, testkit.Samples)
	f := func(name string, most float64, command ...string) {
		t.Helper()
		dir := t.TempDir()
		data, out := filepath.Join(dir, "perf.data"), filepath.Join(dir, "ours.folded")
		testkit.Run(t,
			append([]string{
				"perf", "record", "-q", "-B", "-N", "--no-bpf-event", "-m", "1024", "-F", "997", "-e",
				"cpu-clock", "-g", "-o", data, "--",
			}, command...)...).Want(t, 0)
		// Neither shows inlined functions, because a machine may have the debug
		// information of the dynamic linker.
		testkit.Run(t, testkit.PPScript(t), "--input", data, "--lines=no", "--flame-graph", out, "-c",
			`sample(event = "cpu-clock").stack().stacks().top(1)`).Want(t, 0)
		got, want := nameless(folded(t, out)), perfFolded(t, data)
		var sum, perfs, different int64
		var shown []string
		for path, n := range want {
			perfs += n
			if d := n - got[path]; d > 0 {
				different += d
				shown = append(shown, fmt.Sprintf("%.600s: got %d, want %d", path, got[path], n))
			}
		}
		for _, n := range got {
			sum += n
		}
		if sum != perfs || sum < 20 {
			t.Errorf("%s: got %d samples, want perf's %d, at least 20", name, sum, perfs)
		}
		share := float64(different) / float64(perfs)
		t.Logf("%s: %.1f%% of %d samples have another stack", name, 100*share, perfs)
		// A fault in the dynamic linker, in one sample of many recordings, may
		// be where a name has aliases.
		if different > 1 && share > most {
			t.Errorf("%s: %.1f%% of the samples have another stack:\n%s", name, 100*share,
				strings.Join(shown[:min(5, len(shown))], "\n"))
		}
	}
	f("C", 0, compiled(t, "hot.c", "-O1", "-fno-omit-frame-pointer"), "1600")
	f("C++", 0.01, compiled(t, "names.cc", "-O1", "-fno-omit-frame-pointer"))
	f("Rust", 0, compiled(t, "rustnames.c", "-O1", "-fno-omit-frame-pointer"))
	f("Go", 0.05, "go", "list", "-deps", "ppscript/...")
}

// leaf adds up the counts by innermost function, and the counts of all stacks
// with a frame.
func leaf(sums map[string]int64, through string) (byLeaf map[string]int64, total, passed int64) {
	byLeaf = map[string]int64{}
	for path, n := range sums {
		names := strings.Split(path, ";")
		// The kernel's work in between belongs to the function.
		for i := len(names) - 1; i > 0; i-- {
			if names[i] == "hot_a" || names[i] == "hot_b" {
				byLeaf[names[i]] += n
				break
			}
		}
		total += n
		if slices.Contains(names, through) {
			passed += n
		}
	}
	return byLeaf, total, passed
}

// A live profile shows where a program spends its time, and totals of all
// files agree.
func TestProfileOfKnownProgram(t *testing.T) {
	live(t, testkit.Samples)
	program := compiled(t, "hot.c", "-O2", "-fno-optimize-sibling-calls", "-fomit-frame-pointer")
	dir := t.TempDir()
	fold, pb := filepath.Join(dir, "hot.folded"), filepath.Join(dir, "hot.pb.gz")
	testkit.Run(t, testkit.PPScript(t), "profile", "-F", "997", "-g", "--user-callchain=dwarf",
		"--exclude-kernel", "--top", "3",
		"--flame-graph", fold, "--pprof", pb, "--", program, "1600").Want(t, 0)
	sums := folded(t, fold)
	byLeaf, total, passed := leaf(sums, "main")
	// Folded stacks of a value have its sum: nanoseconds here.
	for name, want := range map[string]float64{"hot_a": 0.75, "hot_b": 0.25} {
		if got := float64(byLeaf[name]) / float64(total); math.Abs(got-want) > 0.06 {
			t.Errorf("%s: got %.1f%% of the time, want %.0f%%", name, 100*got, 100*want)
		}
	}
	if got := float64(passed) / float64(total); got < 0.97 {
		t.Errorf("got main in %.1f%% of the stacks, want it in nearly all: the program has no frame pointers",
			100*got)
	}
	file, err := os.Open(pb)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p, err := profile.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	var value int64
	for _, s := range p.Sample {
		value += s.Value[1]
	}
	if value != total {
		t.Errorf("got %d ns in pprof's file, want the %d of the folded one", value, total)
	}
	if out := testkit.Run(t, "go", "tool", "pprof", "-top", pb); !strings.Contains(out.Stdout, "hot_a") ||
		!strings.Contains(out.Stdout, "Type: cpu") {
		t.Errorf("go tool pprof -top: got\n%s%s", out.Stdout, out.Stderr)
	}
	if out := testkit.Run(t, "go", "tool", "pprof", "-raw", pb).
		Want(t, 0); !strings.Contains(out.Stdout, "samples/count cpu/nanoseconds") {
		t.Errorf("go tool pprof -raw: got\n%.300s", out.Stdout)
	}
}

// Two processes of one program have its functions at different addresses, but
// each stack is one block.
func TestStacksOfTwoProcesses(t *testing.T) {
	live(t, testkit.GCC, testkit.Samples)
	program := compiled(t, "hot.c", "-O1", "-fno-omit-frame-pointer", "-pie", "-fPIE")
	out := testkit.Run(t, testkit.PPScript(t), "--format", "json", "-c",
		`sample(freq = 997, event = "cpu-clock").stack(kernel = False).stacks()`,
		"--", "sh", "-c", program+" 800 & "+program+" 800; wait").Want(t, 0)
	blocks, shared := map[string]bool{}, 0
	for line := range strings.Lines(out.Stdout) {
		var r struct {
			Type string
			Data struct {
				Stacks []struct {
					Key   map[string]string
					PID   int
					Stack []struct {
						Symbol, DSO string
						Offset      int64
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for _, s := range r.Data.Stacks {
			if len(s.Stack) == 0 || s.Stack[0].DSO != program {
				continue
			}
			block := fmt.Sprint(s.Key, s.Stack)
			if blocks[block] {
				t.Errorf("got two blocks of %s", block)
			}
			blocks[block] = true
			if s.PID == -1 {
				shared++
			}
		}
	}
	if shared == 0 || len(blocks) < 3 {
		t.Errorf("got %d blocks, %d of both processes, want several", len(blocks), shared)
	}
}

// The stacks of each interval follow those of the previous one, with the
// interval's begin as a stamp; an existing file is kept as .old.
func TestFoldedByInterval(t *testing.T) {
	live(t, testkit.Samples)
	program := compiled(t, "hot.c", "-O1", "-fno-omit-frame-pointer")
	fold := filepath.Join(t.TempDir(), "cpu.folded")
	if err := os.WriteFile(fold, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, testkit.PPScript(t), "profile", "-F", "499", "-g", "--flame-graph", fold, "-i", "500ms",
		"--", program, "1600").Want(t, 0)
	old, err := os.ReadFile(fold + ".old")
	if err != nil || string(old) != "before" {
		t.Errorf("got %q in .old (%v), want what was there", old, err)
	}
	stamps := map[string]bool{}
	stamp := regexp.MustCompile(`^\d{4}-\d\d-\d\d;\d\d:\d\d:\d\d;`)
	for path := range folded(t, fold) {
		if !stamp.MatchString(path) {
			t.Fatalf("got line %q, want a time in front", path)
		}
		stamps[stamp.FindString(path)] = true
	}
	if len(stamps) < 2 {
		t.Errorf("got %d periods, want at least two", len(stamps))
	}
}

// A file that cannot be written is reported before anything runs.
func TestStackFileErrors(t *testing.T) {
	f := func(want string, args ...string) {
		t.Helper()
		out := testkit.Run(t, append([]string{testkit.PPScript(t), "profile", "-g"},
			append(args, "--", "sh", "-c", "echo ran")...)...)
		if out.Exit != 2 || !strings.Contains(out.Stderr, want) || strings.Contains(out.Stdout, "ran") {
			t.Errorf("%v: got exit %d, %q; want 2 and %q, and no run", args, out.Exit, out.Stderr, want)
		}
	}
	f("no such file or directory", "--flame-graph", "/nonexistent/x.svg")
	f("is a directory", "--flame-graph", t.TempDir())
	f("no such file or directory", "--pprof", "/nonexistent/x.pb.gz")
}

// Faults in user code, in the kernel, and both, by their addresses.
func TestPageFaultsExclude(t *testing.T) {
	live(t)
	count := func(options ...string) (user, kernel int, said string) {
		t.Helper()
		out := testkit.Run(t, slices.Concat([]string{testkit.PPScript(t), "page-faults", "--format", "json"},
			options, []string{"--", "sh", "-c", "/bin/true; /bin/true"})...).Want(t, 0)
		for _, e := range testkit.Events(t, out.Stdout) {
			if n, err := e.Fields["ip"].(json.Number).Float64(); err == nil && n < 1<<63 {
				user++
			} else {
				kernel++
			}
		}
		return user, kernel, out.Stderr
	}
	user, kernel, _ := count("--exclude-kernel")
	if user == 0 || kernel != 0 {
		t.Errorf("without the kernel: got %d faults in user code and %d in the kernel, want some and none",
			user, kernel)
	}
	user, kernel, _ = count("--exclude-user")
	if user != 0 || kernel == 0 {
		t.Errorf("without user code: got %d faults in user code and %d in the kernel, want none and some",
			user, kernel)
	}
	user, kernel, said := count("-G")
	if user == 0 || kernel == 0 || !strings.Contains(said, "page-faults: the kernel counts it on the host") {
		t.Errorf("only guests: got %d faults in user code, %d in the kernel and %q, want both and a warning",
			user, kernel, said)
	}
	out := testkit.Run(t, testkit.PPScript(t), "page-faults", "--exclude-user",
		"--exclude-kernel", "--", "true")
	if out.Exit == 0 || !strings.Contains(out.Stderr, "--exclude-user and --exclude-kernel leave nothing") {
		t.Errorf("both: got status %d and %q, want an error", out.Exit, out.Stderr)
	}
}

// Stacks of page faults in JSON have addresses, symbols, and the file.
func TestPageFaultStacks(t *testing.T) {
	live(t)
	program := compiled(t, "hot.c", "-O1", "-fno-omit-frame-pointer")
	out := testkit.Run(t, testkit.PPScript(t), "page-faults", "-g", "--format", "json", "--", program, "1").
		Want(t, 0)
	inMain := false
	for line := range bytes.Lines([]byte(out.Stdout)) {
		var r struct {
			Type string
			Data struct {
				Text  string
				Stack []struct {
					Addr, Symbol, DSO string
					Kernel            bool
				}
			}
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if r.Type != "event" {
			continue
		}
		if !strings.HasPrefix(r.Data.Text, "addr ") || len(r.Data.Stack) == 0 {
			t.Errorf("got event %s, want an address and a stack", line)
		}
		for _, fr := range r.Data.Stack {
			inMain = inMain || fr.DSO == program && !fr.Kernel && strings.HasPrefix(fr.Addr, "0x")
		}
	}
	if !inMain {
		t.Errorf("got no fault in %s", program)
	}
}

func TestComparable(t *testing.T) {
	for in, want := range map[string]string{
		"_dl_start_user": "_start", "puts@plt": "puts", "f[go.shape.int]": "f", "main": "main",
	} {
		if got := comparable(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}
