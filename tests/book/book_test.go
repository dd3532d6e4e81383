package book

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ppscript/docs"
	scriptlib "ppscript/scripts"
	"ppscript/stdlib"
	"ppscript/tests/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// atOnce is how many commands run at the same time.
const atOnce = 4

var (
	// open matches words that a reader replaces, such as PID.
	open = regexp.MustCompile(`\.\.\.|\b(EVENTS?|PROFILER|NAME|SCRIPT|DIR|CONFIG|TID|URL|START|END|LIB|` +
		`WHAT|TOPIC)\b`)
	// machine matches errors about features that this machine lacks; the
	// command is right nevertheless.
	machine = regexp.MustCompile(`not supported by this kernel|this machine has no PMU|no such function|` +
		`no USDT probes|none below /sys/fs|not in the recording|no such container|no container|no pod|` +
		`no such file or directory|no such block device|no hierarchy with perf_event is mounted|` +
		`no program or library|no such process|no such event|not mounted|Permission denied|is no socket`)
	filled = strings.NewReplacer("-p PID", fmt.Sprint("-p ", os.Getpid()), "CMD", "true", "FUNC", "vfs_read",
		"FILE", "libc", "-p 4711", fmt.Sprint("-p ", os.Getpid()))
)

// shipped are the names of the scripts that come with ppscript.
var shipped = append(stdlib.Names(), scriptlib.Names()...)

// TestCommandsAreUnderstood runs explain for every command of the book: its
// options, events and fields exist, and its functions compile.
func TestCommandsAreUnderstood(t *testing.T) {
	t.Parallel()
	bin, dir := testkit.PPScript(t), t.TempDir()
	data, err := os.ReadFile("../data/states.data")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "perf.data"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	n := 0
	for _, page := range append(docs.Names(), "") {
		for _, c := range commands(page) {
			if c.args == "" || open.MatchString(c.args) || strings.Contains(c.args, ".star") {
				continue
			}
			n++
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				if wrong := c.wrong(t, bin, dir); wrong != "" {
					t.Errorf("docs/%s.md:%d: ppscript %s\n%s", c.page, c.line, c.args, wrong)
				}
			})
		}
	}
	wg.Wait()
	if n < 200 {
		t.Errorf("only %d commands were found", n)
	}
}

// wrong returns the error of a command that ppscript does not understand; "" if
// there is none.
func (c command) wrong(t *testing.T, bin, dir string) string {
	// ppscript also looks for the observed program, which may not be installed here; any program
	// will do.
	args, workload, _ := strings.Cut(filled.Replace(c.args), " -- ")
	if workload != "" {
		args += " -- true"
	}
	word, rest, _ := strings.Cut(args, " ")
	line := bin + " explain " + args
	switch {
	case strings.HasSuffix(args, " help"):
		line = bin + " " + args
	case strings.HasPrefix(word, "-"):
	case rest == "" || !slices.Contains(shipped, strings.ReplaceAll(word, "-", "_")):
		line = bin + " help " + word // a subcommand, or a name in a sentence
	}
	out := testkit.Run(t, "sh", "-c", "cd "+dir+" && "+line)
	if out.Exit == 0 || machine.MatchString(out.Stderr) {
		return ""
	}
	return out.Stderr
}

func TestScripts(t *testing.T) {
	bin, dir := testkit.PPScript(t), t.TempDir()
	n := 0
	for _, page := range docs.Names() {
		for _, s := range scripts(page) {
			n++
			path := filepath.Join(dir, fmt.Sprintf("%s_%d.star", strings.ReplaceAll(page, "-", "_"), s.first))
			if err := os.WriteFile(path, []byte(strings.Join(s.lines, "\n")), 0o600); err != nil {
				t.Fatal(err)
			}
			if out := testkit.Run(t, bin, "check", path); out.Exit != 0 {
				t.Errorf("docs/%s.md:%d: %s%s", page, s.first, out.Stdout, out.Stderr)
			}
		}
	}
	if n < 3 {
		t.Errorf("only %d scripts were found", n)
	}
}

// TestTutorial runs the commands of the tutorial, and compares the output: the
// headings of tables, and lines without numbers.
func TestTutorial(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, testkit.Live...)
	bin, dir := testkit.PPScript(t), t.TempDir()
	script := scripts("tutorial")[0]
	err := os.WriteFile(filepath.Join(dir, "slow.star"), []byte(strings.Join(script.lines, "\n")), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, b := range blocks("tutorial") {
		for _, c := range typed(b) {
			n++
			// Other work on the machine can change which things are slow or lost.
			testkit.Again(t, func() (wrong []string) {
				for _, text := range c.wrong(t, bin, dir) {
					wrong = append(wrong, fmt.Sprintf("tutorial.md:%d: $ %s\n%s", b.first, c.line, text))
				}
				return wrong
			})
		}
	}
	if n < 20 {
		t.Errorf("only %d commands were found", n)
	}
}

// An example is a command of the tutorial and its output.
type example struct {
	line  string
	lines []string
}

// typed returns the examples of a block.
func typed(b block) []example {
	var list []example
	for _, line := range b.lines {
		if next, ok := strings.CutPrefix(line, "$ "); ok {
			list = append(list, example{line: next})
		} else if len(list) > 0 {
			last := &list[len(list)-1]
			last.lines = append(last.lines, line)
		}
	}
	return list
}

// wrong returns the differences between the output and the tutorial.
func (x example) wrong(t *testing.T, bin, dir string) (wrong []string) {
	line := fmt.Sprintf("cd %s && %s %s", dir, bin, strings.TrimPrefix(x.line, "ppscript "))
	out := testkit.StartFor(t, time.Minute, "sh", "-c", line).Wait()
	if out.Exit != 0 {
		wrong = append(wrong, fmt.Sprintf("status %d: %s", out.Exit, out.Stderr))
	}
	all := blanks.ReplaceAllString(out.Stdout, " ")
	for i, want := range x.lines {
		heading := i+1 < len(x.lines) && strings.HasPrefix(strings.TrimSpace(x.lines[i+1]), "---")
		if !heading && strings.ContainsAny(want, "0123456789") || strings.Contains(want, "---") {
			continue
		}
		if !strings.Contains(all, strings.TrimSpace(blanks.ReplaceAllString(want, " "))) {
			wrong = append(wrong, fmt.Sprintf("no line %q in\n%s%s", want, out.Stdout, out.Stderr))
		}
	}
	return wrong
}

var blanks = regexp.MustCompile(`\s+`)
