package prompt

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// recorded are the options for the recording that most sessions use.
func recorded(t *testing.T) []string {
	t.Helper()
	path, err := filepath.Abs("../data/trace.data")
	if err != nil {
		t.Fatal(err)
	}
	return []string{"--input", path}
}

func TestStatementsAreEditedWhole(t *testing.T) {
	t.Parallel()
	p := open(t, t.TempDir(), nil, recorded(t)...)
	p.line("def g(x):")
	p.line("y = x * 2") // the prompt has indented the line already
	p.line("return y")
	p.keys("Enter")
	p.ask("g(4)", "8\n")
	// The statement is recalled as a whole, changed in its middle, and run from
	// there.
	p.keys("C-l", "Up", "Up")
	p.see(">>> def g(x):", "...     y = x * 2", "...     return y")
	p.keys("Up", "End", "BSpace")
	p.text("10")
	p.see("y = x * 10")
	p.keys("M-Enter")
	p.ask("g(4)", "40\n")
	// A line that is longer than the terminal, a change at its begin, and undo.
	p.keys("C-l")
	p.text("len(\"" + strings.Repeat("abcdefghij", 12) + "\")")
	p.keys("C-a")
	p.text("2 * ")
	p.keys("Enter")
	p.see("240")
	p.text("nonsense")
	p.keys("C-_")
	p.ask("6 * 7", "42\n")
}

func TestPastes(t *testing.T) {
	t.Parallel()
	p := open(t, t.TempDir(), nil, recorded(t)...)
	p.keys("C-l")
	p.paste("total = 0\nfor i in range(4):\n    if i % 2:\n        total += i\n\n    else:\n        pass\n" +
		"print(\"sum\", total)\n")
	p.see("... print(\"sum\", total)")
	p.keys("Enter")
	p.see("sum 4")
	p.paste("tracepoint(\n    \"sched:sched_switch\"\n)")
	p.text(".by(\"prev_comm\").count()")
	p.keys("Enter")
	p.see("prev_comm  ", "sleep ")
}

func TestHistorySurvives(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := open(t, dir, nil, recorded(t)...), open(t, dir, nil, recorded(t)...)
	a.line("def first():")
	a.line("return 1")
	a.keys("Enter")
	waitFor(t, filepath.Join(dir, "history"), "return 1")
	b.ask("second = 2")
	a.ask("first()", "1\n")
	for _, p := range []*pane{a, b} {
		p.keys("C-d")
	}
	text := waitFor(t, filepath.Join(dir, "history"), "first()")
	if want := "def first():\n\t    return 1\nsecond = 2\nfirst()\n"; text != want {
		t.Errorf("the history is %q, want %q", text, want)
	}
	if st, err := os.Stat(filepath.Join(dir, "history")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("it has mode %v, %v, want 0600", st.Mode(), err)
	}
	c := open(t, dir, nil, recorded(t)...)
	c.keys("C-l", "Up", "Up", "Up")
	c.see(">>> def first():\n...     return 1")
	c.keys("C-c", "C-r")
	c.text("eco")
	c.see("(search \"eco\") second = 2")
	c.keys("Enter")
	c.ask("second", "2\n")
}

// waitFor returns a file's content as soon as it contains the word.
func waitFor(t *testing.T, path, word string) string {
	t.Helper()
	for range 3000 {
		if b, err := os.ReadFile(path); err == nil && strings.Contains(string(b), word) {
			return string(b)
		}
		pause()
	}
	t.Fatalf("%s never has %q", path, word)
	return ""
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	p := open(t, t.TempDir(), []string{"PPSCRIPT_PAGER=cat"}, recorded(t)...)
	p.tmux("resize-window", "-t", "0", "-x", "90", "-y", "60") // all methods of a value fit
	p.ask("?join", "join(", "Errors")
	p.ask("?kvm-exit", "An exit is measured", `script("kvm-exit")`)
	p.ask("?sched:sched_switch", "prev_state", "and of every event:")
	p.ask("?sched:sched_switch.next_comm", "sched:sched_switch.next_comm\n", "char[16]")
	p.ask(`x = tracepoint("sched:sched_switch").by("prev_comm").count()`)
	p.ask("?x", "x: table", "events: sched:sched_switch", "table.sort")
	p.ask("r = run(x)")
	p.ask("?r", "r: a result, table of 3 rows: prev_comm, count", "result.save")
	p.ask("?top", "stacks.top(n)", "result.top(n)")
	p.ask("?tracepont", "no word, profiler", "tracepoint?)")
	p.ask("n = [1, 2]")
	p.ask("n?", "n: list of 2")
}

func TestLongResultsArePaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// With the built-in pager, if there is no other program.
	p := open(t, dir, []string{"PATH=/nonexistent"}, recorded(t)...)
	p.ask(`"\n".join(["line %d" % i for i in range(3)])`, "line 2")
	p.line("help()")
	p.see(" 1-23 of ", "opt.string", "n, q")
	p.keys("Space")
	p.see(" 24-46 of ")
	p.text("/sched_nothing")
	p.keys("Enter")
	p.see("no further line has")
	p.keys("q")
	p.ask("1 + 1", "2\n")

	// With a pager that the user chose.
	q := open(t, dir, []string{"PAGER=head -n 2"}, recorded(t)...)
	screen := q.ask("help()", "Declares the options")
	if strings.Contains(screen, "whole_cpus") {
		t.Errorf("got more than the user's pager shows:\n%s", screen)
	}
}

func TestBarsOfRealEvents(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, testkit.Live...)
	load := testkit.Start(t, "sh", "-c", "while :; do read x </dev/null; kill -0 $$; done")
	p := open(t, t.TempDir(), nil, "-p", strconv.Itoa(load.PID()))
	p.ask(`x = tracepoint("raw_syscalls:sys_enter").by(call = lambda e: syscall_name(e.id)).count()`)
	p.ask("r = run(x, seconds = 1)")
	screen := p.ask("plot(r)", "count by call", "█")
	// The largest number has the longest bar.
	numbers, longest := []int{}, 0
	for _, line := range strings.Split(screen, "\n") {
		if cells := strings.Fields(line); len(cells) == 3 && strings.HasPrefix(cells[2], "█") {
			n, err := strconv.Atoi(cells[1])
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			numbers = append(numbers, n)
			longest = max(longest, strings.Count(line, "█"))
		}
	}
	if len(numbers) < 2 || longest < 50 {
		t.Fatalf("got %d bars, the longest of %d cells:\n%s", len(numbers), longest, screen)
	}
	for i := range numbers[1:] {
		if numbers[i] < numbers[i+1] {
			t.Errorf("the bars are not sorted: %v", numbers)
		}
	}
	p.ask("sum([row.count for row in r]) == r.samples", "True\n")
}

func TestIntervalsAreDrawn(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, testkit.Live...)
	load := testkit.Start(t, "sh", "-c", "while :; do read x </dev/null; kill -0 $$; done")
	dir := t.TempDir()
	p := open(t, dir, nil, "-p", strconv.Itoa(load.PID()))
	p.ask(`e = [[tracepoint("raw_syscalls:sys_enter")], [tracepoint("raw_syscalls:sys_exit")]]`)
	p.ask(`c = join(e[0], e[1], key = "tid")`)
	p.ask("h = run(c.hist(\"delay\"), seconds = 0.5, interval = 0.1)")
	p.ask("plot(h)", "delay: ", "a column is 1", "█", "counts: ")
	p.ask("h.save(\"h.svg\"); h.save(\"h.json\")")
	svg := waitFor(t, filepath.Join(dir, "h.svg"), "</svg>")
	if strings.Count(svg, "<title>") < 3 {
		t.Errorf("the picture has few cells: %.300s", svg)
	}
	// The file has the result of each interval.
	intervals := 0
	saved := waitFor(t, filepath.Join(dir, "h.json"), "}\n")
	for _, line := range strings.Split(strings.TrimSpace(saved), "\n") {
		var record struct{ Type string }
		if err := json.Unmarshal([]byte(line), &record); err != nil || record.Type != "histogram" {
			t.Fatalf("%q: got %q, %v, want a histogram", line, record.Type, err)
		}
		intervals++
	}
	if intervals < 2 {
		t.Errorf("got %d intervals, want 5, or less on a busy machine", intervals)
	}
	p.ask(`n = run(tracepoint("raw_syscalls:sys_enter").count(), seconds = 0.5, interval = 0.1)`)
	curve := p.ask("plot(n)", "count", "│", "└──")
	if !strings.ContainsFunc(curve, func(r rune) bool { return r > 0x2800 && r < 0x2900 }) {
		t.Errorf("no curve in\n%s", curve)
	}
	p.ask("[len(n.intervals) >= 2, n.intervals[0].rows[0].count > 0]", "[True, True]")
}

func TestSaves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := open(t, dir, nil, recorded(t)...)
	p.ask(`r = run(tracepoint("sched:sched_switch").by("prev_comm").count())`)
	p.ask(`r.save("a.json"); r.save("a.csv"); r.save("a.md")`)
	p.ask(`r.save("a.svg")`, "hint:")
	p.ask(`r.save("a.nothing")`, ".json")
	if text := waitFor(t, filepath.Join(dir, "a.csv"), "sh"); !strings.Contains(text, "sh,4") {
		t.Errorf("got %q, want 4 of sh", text)
	}
	var record struct {
		Data struct {
			Rows []struct {
				Comm  string `json:"prev_comm"`
				Count int
			}
		}
	}
	if err := json.Unmarshal([]byte(waitFor(t, filepath.Join(dir, "a.json"), "}\n")), &record); err != nil {
		t.Fatal(err)
	}
	if rows := record.Data.Rows; len(rows) != 3 || rows[0].Comm != "sh" || rows[0].Count != 4 {
		t.Errorf("got %+v, want three rows, the first 4 of sh", rows)
	}
	if _, err := os.Stat(filepath.Join(dir, "a.svg")); err == nil {
		t.Error("a table became a picture")
	}
}

func TestEditedFilesAreLoadedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("lib.star", "slow = 1 * ms\n")
	write("q.star", "load(\"./lib.star\", \"slow\")\n\ndef than():\n    return slow\n")
	p := open(t, dir, nil, append(recorded(t), "q.star")...)
	p.ask("than()", "1ms\n")
	write("lib.star", "slow = 5 * ms\n")
	p.ask("than()", "lib.star changed: loaded again", "5ms\n")
	write("lib.star", "slow = 5 * msec\n")
	p.ask("than()", "undefined name msec", "what was loaded before goes on", "5ms\n")
	p.ask("why", "lib.star, line 1", "undefined name msec")
	write("lib.star", "slow = 7 * ms\n")
	p.ask("than()", "7ms\n")
}

func TestWhyExplainsErrors(t *testing.T) {
	t.Parallel()
	p := open(t, t.TempDir(), nil, recorded(t)...)
	p.ask("why", "nothing has failed here yet")
	p.ask(`tracepoint("sched:sched_swich").count()`, "did you mean sched:sched_switch?")
	p.ask("why", `try        tracepoint("sched:sched_switch").count()`, "hint ")
	p.ask("tracepont(1)", "undefined name")
	p.ask("why", "try        tracepoint(1)", "read       ppscript help language", "where ")
	p.ask("run(3)", "want something to run")
	p.ask("why", "about      run(x", "Errors")
}

func TestKeysOfThePrompt(t *testing.T) {
	t.Parallel()
	p := open(t, t.TempDir(), nil, recorded(t)...)
	p.keys("C-l")
	p.text("tracep")
	p.keys("Tab")
	p.see(">>> tracepoint")
	p.text(`("sched:sched_switch").by("next_c`)
	p.keys("Tab")
	p.see(`by("next_comm`)
	p.text(`").count().to`)
	p.keys("Tab", "Tab")
	p.see("top", "to_file")
	p.text("p(1)")
	p.keys("Enter")
	p.see("next_comm", "more row")
	// The terminal becomes smaller while a block is typed.
	p.keys("C-l")
	p.line("def f():")
	p.text("x = \"" + strings.Repeat("y", 60) + "\"")
	p.tmux("resize-window", "-t", "0", "-x", "50", "-y", "20")
	p.until("the line broken at 50 cells", func(screen string) bool {
		for _, line := range strings.Split(screen, "\n") {
			if len(line) > 50 {
				return false
			}
		}
		return strings.Contains(screen, "yyy\"")
	})
	p.keys("Enter")
	p.line("return len(x)")
	p.keys("Enter")
	p.ask("f()", "60\n")
	p.text("1 +")
	p.keys("C-c")
	p.ask("fmt(\"{}\", 3)", "3")

}
