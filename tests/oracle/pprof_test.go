package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"ppscript/tests/testkit"
)

func readPprof(t *testing.T, path string) *profile.Profile {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// lineOf returns the number of the source line with a comment.
func lineOf(t *testing.T, source, remark string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", source))
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(text), "// "+remark)
	if !ok {
		t.Fatalf("%s has no remark %s", source, remark)
	}
	return fmt.Sprint(1 + strings.Count(before, "\n"))
}

// A pprof file has the meaning of its values, source lines, inlined functions,
// and the mappings of files.
func TestPprofIsWhole(t *testing.T) {
	live(t, testkit.Samples)
	testkit.Requires(t, testkit.Binutils)
	program := compiled(t, "inline.cc", "-O2", "-g", "-no-pie")
	dir := t.TempDir()
	pb, fold := filepath.Join(dir, "inline.pb.gz"), filepath.Join(dir, "inline.folded")
	testkit.Run(t, testkit.PPScript(t), "profile", "-F", "997", "-g", "--exclude-kernel", "-o", "/dev/null",
		"--pprof", pb, "--flame-graph", fold, "--", program, "300000").Want(t, 0)
	p := readPprof(t, pb)
	if got := fmt.Sprint(p.SampleType[0].Type, p.SampleType[0].Unit, p.SampleType[1].Type,
		p.SampleType[1].Unit, p.PeriodType.Type, p.PeriodType.Unit); got !=
		"samplescount"+"cpu"+"nanoseconds"+"cpu"+"nanoseconds" || p.Period < 900_000 || p.Period > 1_100_000 {
		t.Errorf("got types %s, period %d; want samples, cpu time, and about 1 ms", got, p.Period)
	}
	var all, within int64
	want := []string{
		"inner:" + lineOf(t, "inline.cc", "innermost"), "outer:" + lineOf(t, "inline.cc", "calls inner"),
		"work:" + lineOf(t, "inline.cc", "calls outer"),
	}
	for _, s := range p.Sample {
		all += s.Value[0]
		var got []string
		for _, l := range s.Location[0].Line {
			got = append(got, fmt.Sprintf("%s:%d", l.Function.Name, l.Line))
		}
		if len(got) == 3 && strings.Join(got[1:], " ") == strings.Join(want[1:], " ") &&
			strings.HasPrefix(got[0], "inner:") {
			within += s.Value[0]
		}
	}
	if float64(within) < 0.9*float64(all) || all < 50 {
		t.Errorf("got %d of %d samples in %v, want nearly all", within, all, want)
	}
	notes := testkit.Run(t, "readelf", "-n", program).Want(t, 0).Stdout
	id := regexp.MustCompile(`Build ID: ([0-9a-f]+)`).FindStringSubmatch(notes)[1]
	segment := regexp.MustCompile(`LOAD +(0x[0-9a-f]+) (0x[0-9a-f]+) .*\n +0x[0-9a-f]+ 0x[0-9a-f]+ +R E`).
		FindStringSubmatch(testkit.Run(t, "readelf", "-l", program).Want(t, 0).Stdout)
	found := false
	for _, m := range p.Mapping {
		if m.File == program {
			found = true
			if m.BuildID != id || !m.HasFunctions || !m.HasLineNumbers ||
				fmt.Sprintf("0x%016x", m.Start) != segment[2] ||
				fmt.Sprintf("0x%016x", m.Offset) != segment[1] ||
				m.Limit <= m.Start {
				t.Errorf("got mapping %+v, want build-id %s at %s, offset %s", m, id, segment[2], segment[1])
			}
		}
	}
	if !found {
		t.Errorf("got mappings %v, want %s", p.Mapping, program)
	}
	if out := testkit.Run(t, "go", "tool", "pprof", "-list", "^work$", pb).
		Want(t, 0); !strings.Contains(out.Stdout, "sink = outer(i)") {
		t.Errorf("go tool pprof -list: got\n%.500s%.500s", out.Stdout, out.Stderr)
	}
	if text, err := os.ReadFile(fold); err != nil || !strings.Contains(string(text), "work;outer;inner ") {
		t.Errorf("folded: got %.300s %v, want the inlined functions", text, err)
	}
}

// --lines=no reads no debug information, and the file says so.
func TestPprofWithoutLines(t *testing.T) {
	live(t, testkit.Samples)
	program := compiled(t, "inline.cc", "-O2", "-g")
	pb := filepath.Join(t.TempDir(), "inline.pb.gz")
	testkit.Run(t, testkit.PPScript(t), "profile", "-F", "997", "-g", "--exclude-kernel", "-o", "/dev/null",
		"--lines=no", "--pprof", pb, "--", program, "100000").
		Want(t, 0)
	for _, m := range readPprof(t, pb).Mapping {
		if m.HasLineNumbers || m.HasInlineFrames || m.HasFilenames {
			t.Errorf("got %+v, want a mapping that has functions alone", m)
		}
	}
}

// A program that exists only in a cache by build-id, or below another
// directory, has the names of its functions.
func TestFilesElsewhere(t *testing.T) {
	live(t, testkit.Samples)
	testkit.Requires(t, testkit.Binutils, testkit.Perf)
	program := compiled(t, "inline.cc", "-O2", "-g")
	dir := t.TempDir()
	data := filepath.Join(dir, "perf.data")
	testkit.Run(t, "perf", "record", "-q", "--buildid", "-N", "-e", "cpu-clock:u", "-F", "997", "-g", "-o",
		data, "--", program, "100000").Want(t, 0)
	id := regexp.MustCompile(`Build ID: ([0-9a-f]+)`).
		FindStringSubmatch(testkit.Run(t, "readelf", "-n", program).Want(t, 0).Stdout)[1]
	cache, root := filepath.Join(dir, "cache"), filepath.Join(dir, "root")
	for _, place := range []string{
		filepath.Join(cache, ".build-id", id[:2], id[2:], "elf"), filepath.Join(root, program),
	} {
		testkit.Run(t, "install", "-D", program, place).Want(t, 0)
	}
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		option string
		found  bool
	}{{"--lines=yes", false}, {"--debug-dir=" + cache, true}, {"--symfs=" + root, true}} {
		fold := filepath.Join(dir, "out.folded")
		testkit.Run(t, testkit.PPScript(t), "profile", "--input", data, "-g", "-o", "/dev/null", x.option,
			"--flame-graph", fold).Want(t, 0)
		text, err := os.ReadFile(fold)
		if err != nil || strings.Contains(string(text), "work;outer;inner ") != x.found {
			t.Errorf("%s: got\n%.300s%v; want the functions: %t", x.option, text, err, x.found)
		}
	}
}
