package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// The lines of a run in the form of `go test -json`.
const sampleOutput = `{"Action":"output","Package":"ppscript/a","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"output","Package":"ppscript/a","Test":"TestGood","Output":"    again.go:27: tried again, since\n"}
{"Action":"output","Package":"ppscript/a","Test":"TestGood","Output":"        calls: got 1, want 2\n"}
{"Action":"output","Package":"ppscript/a","Test":"TestGood","Output":"    again.go:27: tried again, since\n"}
{"Action":"output","Package":"ppscript/a","Test":"TestGood","Output":"        calls: got 3, want 2\n"}
{"Action":"output","Package":"ppscript/a","Test":"TestGood","Output":"    a_test.go:27: enough\n"}
{"Action":"pass","Package":"ppscript/a","Test":"TestGood","Elapsed":1.5}
{"Action":"output","Package":"ppscript/a","Test":"TestLacks","Output":"    a_test.go:7: needs kprobes (no such file); perf (apt-get install linux-perf)\n"}
{"Action":"skip","Package":"ppscript/a","Test":"TestLacks","Elapsed":0}
{"Action":"output","Package":"ppscript/a","Test":"TestLong","Output":"    a_test.go:9: needs time (make test-all)\n"}
{"Action":"skip","Package":"ppscript/a","Test":"TestLong","Elapsed":0}
{"Action":"output","Package":"ppscript/a","Test":"TestOther","Output":"    a_test.go:11: no Landlock\n"}
{"Action":"skip","Package":"ppscript/a","Test":"TestOther","Elapsed":0}
`

const failed = `{"Action":"output","Package":"ppscript/a","Test":"TestBad","Output":"    a_test.go:3: got 1, want 2\n"}
{"Action":"output","Package":"ppscript/a","Test":"TestBad","Output":"--- FAIL: TestBad (0.00s)\n"}
{"Action":"fail","Package":"ppscript/a","Test":"TestBad","Elapsed":0}
{"Action":"output","Package":"ppscript/a","Test":"TestCut","Output":"panic: BUG\n"}
{"Action":"output","Package":"ppscript/a","Output":"FAIL\tppscript/a\t1.6s\n"}
{"Action":"fail","Package":"ppscript/a","Elapsed":1.6}
`

// summary returns the report for these lines.
func summary(t *testing.T, text string, o options) (string, error) {
	t.Helper()
	var out strings.Builder
	r := newReport(&out)
	for line := range strings.Lines(text) {
		r.line([]byte(line))
	}
	err := r.close(o)
	return out.String(), err
}

func TestSummary(t *testing.T) {
	const ended = `{"Action":"output","Package":"ppscript/a","Output":"ok  \tppscript/a\t1.6s\n"}
{"Action":"pass","Package":"ppscript/a","Elapsed":1.6}
`
	got, err := summary(t, sampleOutput+ended, options{slowest: 1})
	want := `ok  	ppscript/a	1.6s
    1.6 s  a 
    1.5 s  a TestGood
tried again 2 times: a TestGood
    calls: got 1, want 2
    calls: got 3, want 2
left out, for want of kprobes: 1
    no such file
left out, for want of no Landlock: 1
left out, for want of perf: 1
    apt-get install linux-perf
left out, for want of time: 1
    make test-all
guests, other tools' numbers, browsers and packages: make test-all
measurements tried again: 2
1 passed, 0 failed, 3 skipped
`
	if err != nil || got != want {
		t.Errorf("got %v and\n%s\nwant\n%s", err, got, want)
	}
}

// The output of a test that failed or was cut short by a panic is shown; the output of other
// tests is not.
func TestFailuresAreShown(t *testing.T) {
	got, err := summary(t, sampleOutput+failed, options{})
	shown := strings.Contains(got, "got 1, want 2") && strings.Contains(got, "panic: BUG") &&
		!strings.Contains(got, "=== RUN")
	if err == nil || !shown || !strings.HasSuffix(got, "\n1 passed, 2 failed, 3 skipped\n") {
		t.Errorf("got %v and\n%s", err, got)
	}
}

// A line that is no event of a test is a message of the go command: it is shown.
func TestMessages(t *testing.T) {
	const text = `pattern ./x: no such directory
{"ImportPath":"ppscript/a","Action":"build-output","Output":"a.go:3:1: syntax error\n"}
`
	got, _ := summary(t, text, options{})
	for _, want := range []string{"pattern ./x: no such directory\n", "a.go:3:1: syntax error\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want it to have %q", got, want)
		}
	}
}

// One of the two commands runs each package, and each name in the tables of plan.go exists.
func TestEachPackageIsRun(t *testing.T) {
	t.Chdir("../..")
	packages, err := testPackages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	times, raced, known := map[string]int{}, map[string]int{}, map[string]bool{}
	for _, o := range []options{{}, {all: true, compiler: true}} {
		for _, p := range phases(packages, o) {
			of := times
			if p.race {
				of = raced
			}
			for _, name := range append(p.packages, p.beside...) {
				of[name]++
			}
		}
	}
	for _, p := range packages {
		known[p.path] = true
		want := 1
		if !p.long && p.hasLong {
			want = 2
		}
		if times[p.path] != want {
			t.Errorf("%s: run %d times, want %d", p.path, times[p.path], want)
		}
		// Each package with short tests runs with the race detector, except for those with a
		// reason.
		want = 1
		if why, left := unracedPackages[p.path]; left {
			want = 0
			if p.long || why == "" {
				t.Errorf("%s: got reason %q, long %t, want a reason, and short tests", p.path, why, p.long)
			}
		} else if p.long {
			want = 0
		}
		if raced[p.path] != want {
			t.Errorf("%s: run %d times by the race detector, want %d", p.path, raced[p.path], want)
		}
	}
	unraced := slices.Collect(maps.Keys(unracedPackages))
	for _, table := range [][]string{longPackages, alonePackages, guestPackages, unraced} {
		for _, name := range table {
			if !known[name] {
				t.Errorf("plan.go names %s, which has no tests", name)
			}
		}
	}
}
