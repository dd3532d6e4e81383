package shipped

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"ppscript/scripts"
	"ppscript/stdlib"
	"ppscript/tests/testkit"
)

// otherwise has the headers in help texts that no recording shows, with the
// reasons.
var otherwise = map[string]string{
	"cpu periods shown sched_switch sched_wakeup":                    "the recording of timers has other events",
	"Mem Store Latency count total min avg max":                      "its case has --perins",
	"CPU SPLIT_LOCKS RUN%":                                           "counters are live only",
	"CPU CYCLES INSNS IPC RUN%":                                      "likewise",
	"CPU REFERENCE MISSES HIT% MISS-LATENCY RUN%":                    "likewise",
	"CPU LOADS LOAD-MISSES STORES STORE-MISSES HIT% STORE-HIT% RUN%": "likewise",
	"cpu all usr sys guest idle":                                     "likewise",
	"event counted seen missing share unordered":                     "likewise",
	"cpu expired stopper hard soft worst(ms)":                        "its symbols are those of one machine",
	"start => end reqs total(us) min(us) avg(us) max(us) than(reqs)": "disks are those of one machine; see TestBlktraceNotes",
	"share total(ms) spans slow(ms) cause":                           "its recording's spans are short, and told in us",
	"kind count":                                                     "its programs are those of one machine",
	"share(%) samples CPU time(us) comm dso symbol":                  "its symbols are those of one machine",
}

// The tables in help texts have the headers that the profilers print.
func TestHelpShowsTheHeaders(t *testing.T) {
	rule := regexp.MustCompile(`^ *-{2,}( +-+)+ *$`)
	words := func(line string) string { return strings.Join(strings.Fields(line), " ") }
	compared, unused := 0, map[string]bool{}
	for h := range otherwise {
		unused[h] = true
	}
	for _, name := range stdlib.Names() {
		text, err := os.ReadFile(filepath.Join("../../stdlib", name+".star"))
		if err != nil {
			t.Fatal(err)
		}
		doc := strings.Split(strings.SplitN(string(text), `"""`, 3)[1], "\n")
		printed := map[string]bool{}
		files, err := filepath.Glob("testdata/" + name + "*.txt")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				printed[words(line)] = true
			}
		}
		for i, line := range doc {
			if i == 0 || !rule.MatchString(line) {
				continue
			}
			header := words(doc[i-1])
			if otherwise[header] != "" {
				delete(unused, header)
				continue
			}
			compared++
			if !printed[header] {
				t.Errorf("%s: its help has the table %q, which it does not print of any recording", name,
					header)
			}
		}
	}
	if compared < 12 || len(unused) > 0 {
		t.Errorf("got %d headers, want 12 at least; %v are no longer in a help text", compared, unused)
	}
}

// Help fits a terminal of 80 columns, and its first screen has the question, an
// example, and at most five options.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Concat(stdlib.Names(), scripts.Names(), []string{"check", "describe",
		"doctor", "explain", "export", "fmt", "info", "mcp", "mod", "new", "record", "repl", "sign", "test", "tls",
		"usdt", "verify"}) {
		dashed := strings.ReplaceAll(name, "_", "-")
		out := testkit.Run(t, testkit.PPScript(t), "help", dashed).Want(t, 0).Stdout
		for line := range strings.Lines(out) {
			if utf8.RuneCountInString(line) > 81 {
				t.Errorf("help %s: got a line of more than 80 columns: %s", dashed, line)
			}
		}
		if _, ok := stdlib.Find(name); !ok {
			continue
		}
		first, _, ok := strings.Cut(out, "\nUsage\n")
		_, options, found := strings.Cut(first, "\nFirst options\n")
		options, _, _ = strings.Cut(options, "\nAbout\n")
		n := len(regexp.MustCompile(`(?m)^ {4}(-., | {4})--[a-z]`).FindAllString(options, -1))
		if !ok || !found || n == 0 || n > 5 {
			t.Errorf("help %s: got %d options on the first screen, want 1 to 5", dashed, n)
		}
	}
}
