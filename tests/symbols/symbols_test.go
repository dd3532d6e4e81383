// Package symbols tests the sources of functions' names: servers, files of other machines, and
// names that are added later.
package symbols

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// A program is a stripped program whose symbols are in other files.
type program struct {
	stripped    string // the program that runs
	debug, full string // directories with its symbols alone, and with the unstripped program
	id          string
}

func build(t *testing.T) program {
	t.Helper()
	testkit.Requires(t, testkit.Samples, testkit.GCC, testkit.Binutils)
	testkit.Requires(t, testkit.Live...)
	testkit.PPScript(t) // built before HOME changes, which would select another cache of the compiler
	dir := t.TempDir()
	p := program{filepath.Join(dir, "bin/burn"), filepath.Join(dir, "debug"), filepath.Join(dir, "full"), ""}
	for _, d := range []string{"bin", "debug", "full/deep"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	whole := filepath.Join(p.full, "deep/some.bin") // its name does not show what it is
	run := func(args ...string) string { return testkit.Run(t, args...).Want(t, 0).Stdout }
	run("gcc", "-g", "-O1", "-fno-omit-frame-pointer", "-Wl,--build-id=sha1", "-o", whole, "testdata/burn.c")
	run("objcopy", "--only-keep-debug", whole, filepath.Join(p.debug, "any.debug"))
	run("strip", "-o", p.stripped, whole)
	p.id = regexp.MustCompile(`Build ID: ([0-9a-f]+)`).FindStringSubmatch(run("readelf", "-n", p.stripped))[1]
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	t.Setenv("HOME", dir)
	return p
}

// serve starts Debian's debuginfod over directories, and waits until it has indexed
// the program.
func serve(t *testing.T, p program, kind string, dirs ...string) (url string) {
	t.Helper()
	testkit.Requires(t, testkit.Program("debuginfod"))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	args := []string{"debuginfod", "-d", ":memory:", "-p", port, "-L", "-F"}
	server := testkit.Start(t, with(args, dirs...)...)
	t.Cleanup(func() { server.Stop() })
	url = "http://127.0.0.1:" + port
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		res, err := http.Get(url + "/buildid/" + p.id + "/" + kind)
		if err != nil {
			continue
		}
		if err := res.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if res.StatusCode == http.StatusOK {
			return url
		}
	}
	t.Fatalf("the server does not have the file:\n%s", server.Stderr())
	return ""
}

// A result has the members of a record stacks that the tests use.
type result struct {
	Stacks []struct {
		Count int
		Stack []struct {
			Symbol, DSO string
			File        string
			Kernel      bool
			Offset      uint64 `json:"file_offset"`
		}
	}
}

// shares returns the samples of the program by its innermost own function.
func shares(t *testing.T, output string) map[string]int {
	t.Helper()
	by := map[string]int{}
	for _, r := range testkit.All[result](t, output, "stacks") {
		for _, s := range r.Stacks {
			for _, f := range s.Stack {
				if strings.HasSuffix(f.DSO, "/burn") {
					by[f.Symbol] += s.Count
					break
				}
			}
		}
	}
	return by
}

// burned checks that three quarters of the samples were in one function.
func burned(t *testing.T, output string) {
	t.Helper()
	by := shares(t, output)
	much, little := by["burn_much"], by["burn_little"]
	if all := much + little; all < 100 || by[""] > all/20 || much < all*2/3 || much > all*5/6 {
		t.Errorf("got samples %v, want three of four in burn_much", by)
	}
}

// nameless checks that no function of the program has a name.
func nameless(t *testing.T, output string) {
	t.Helper()
	if by := shares(t, output); by["burn_much"] > 0 || by[""] == 0 {
		t.Fatalf("got samples %v, want no names", by)
	}
}

var counted = []string{"profile", "-g", "--top", "100000", "--format", "json"}

func ppscript(t *testing.T, args ...string) testkit.Output {
	t.Helper()
	return testkit.Run(t, append([]string{testkit.PPScript(t)}, args...)...).Want(t, 0)
}

func with(args []string, more ...string) []string {
	return append(append([]string(nil), args...), more...)
}

// TestDebuginfod: a program without symbols has names, live, from Debian's server.
func TestDebuginfod(t *testing.T) {
	p := build(t)
	url := serve(t, p, "debuginfo", p.debug)
	live := with(counted, "-F", "997", "--user-callchain=fp")
	nameless(t, ppscript(t, with(live, "--", p.stripped, "200")...).Stdout)
	burned(t, ppscript(t, with(live, "--debuginfod="+url, "--", p.stripped, "500")...).Stdout)

	// From now on the file is in the cache, and the variable names a server that does not
	// answer.
	t.Setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1")
	burned(t, ppscript(t, with(live, "--debuginfod", "--", p.stripped, "500")...).Stdout)
}

// TestNobodyIsAsked: without the option no server gets a request, whatever the environment
// contains.
func TestNobodyIsAsked(t *testing.T) {
	p := build(t)
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	t.Setenv("DEBUGINFOD_URLS", server.URL)
	live := with(counted, "-F", "997", "--user-callchain=fp")
	ppscript(t, with(live, "--", p.stripped, "100")...)
	if n := asked.Load(); n != 0 {
		t.Errorf("the server was asked %d times without the option", n)
	}
	ppscript(t, with(live, "--debuginfod", "--", p.stripped, "100")...)
	if asked.Load() == 0 {
		t.Error("the server was not asked with the option")
	}
}

// TestEventsDoNotWaitForServers: a server that stalls costs no event and no interval.
func TestEventsDoNotWaitForServers(t *testing.T) {
	p := build(t)
	stall := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stall }))
	defer server.Close()
	answer := sync.OnceFunc(func() { close(stall) })
	defer answer()
	args := with([]string{testkit.PPScript(t)}, counted...)
	run := testkit.Start(t, with(args, "-F", "997", "--user-callchain=fp", "-i", "200ms",
		"--debuginfod="+server.URL, "--", p.stripped, "60000")...)
	run.Await("three intervals", func(out string) bool {
		return strings.Count(out, `"seq":`) >= 3
	})
	type interval struct {
		Samples uint64
		Loss    map[string]uint64
	}
	out := run.Stdout()
	for _, r := range testkit.All[interval](t, out[:strings.LastIndexByte(out, '\n')+1], "stacks") {
		if r.Samples == 0 || len(r.Loss) > 0 {
			t.Errorf("got %+v, want samples and no loss", r)
		}
	}
	answer() // otherwise the last result would wait
	run.Stop()
}

// TestRecordingOfAnotherMachine: its build-ids are those that perf reads, and its functions get
// names from a server, and from files with any names.
func TestRecordingOfAnotherMachine(t *testing.T) {
	testkit.Requires(t, testkit.Perf)
	p := build(t)
	data := filepath.Join(t.TempDir(), "perf.data")
	ppscript(t, "record", "-F", "997", "-g", "-N", "-o", data, "--", p.stripped, "500")
	ids := testkit.Run(t, "perf", "buildid-list", "-i", data).Want(t, 0).Stdout
	if !strings.Contains(ids, p.id+" "+p.stripped) {
		t.Errorf("perf buildid-list tells\n%s, want %s %s", ids, p.id, p.stripped)
	}
	if err := os.Remove(p.stripped); err != nil {
		t.Fatal(err)
	}
	read := with(counted, "--input", data)
	nameless(t, ppscript(t, read...).Stdout)
	url := serve(t, p, "executable", p.full)
	// A debug file alone is enough, because the recording's mapping has the place of the
	// program's code.
	burned(t, ppscript(t, with(read, "--symbols-from", p.debug)...).Stdout)
	cache := os.Getenv("XDG_CACHE_HOME")
	t.Setenv("XDG_CACHE_HOME", cache+"-of-debug-files") // without the remembered misses
	burned(t, ppscript(t, with(read, "--debuginfod", serve(t, p, "debuginfo", p.debug))...).Stdout)
	t.Setenv("XDG_CACHE_HOME", cache)
	for _, from := range []string{p.full, url} {
		out := ppscript(t, with(read, "--symbols-from", from)...).Stdout
		burned(t, out)

		// With names added later, the result is the same to the byte.
		for _, lines := range []string{"no", "yes"} {
			now := with(read, "--symbols-from", from, "--lines="+lines)
			later := filepath.Join(t.TempDir(), "later.json")
			ppscript(t, with(read, "--names", "later", "--lines="+lines, "-o", later)...)
			args := []string{"resolve", later, "--symbols-from", from}
			if lines == "yes" {
				args = append(args, "--lines")
			}
			got, want := stacksOf(t, ppscript(t, args...).Stdout), stacksOf(t, ppscript(t, now...).Stdout)
			if got != want || want == "" {
				at := 0
				for at < min(len(got), len(want)) && got[at] == want[at] {
					at++
				}
				at = max(0, at-300)
				t.Errorf("%s, lines %s: named later, from byte %d:\n%.600s\nnamed at once:\n%.600s",
					from, lines, at, got[min(at, len(got)):], want[min(at, len(want)):])
			}
			if has := strings.Contains(want, "burn.c"); has != (lines == "yes") {
				t.Errorf("%s: source files with --lines=%s: %t", from, lines, has)
			}
		}
	}
}

// stacksOf returns the stacks of a result as text.
func stacksOf(t *testing.T, output string) string {
	t.Helper()
	var b strings.Builder
	for _, r := range testkit.All[json.RawMessage](t, output, "stacks") {
		b.Write(r)
	}
	return b.String()
}
