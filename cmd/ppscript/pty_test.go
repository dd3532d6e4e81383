package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ppscript/cmd/ppscript/terminal/prompt"
	"ppscript/tests/testkit"

	"golang.org/x/sys/unix"
)

// This file drives the REPL through a pseudo-terminal, as a person would.

// A terminal is ppscript on a pseudo-terminal.
type terminal struct {
	t    *testing.T
	ptm  *os.File
	cmd  *exec.Cmd
	out  strings.Builder
	text chan string
	read int // of out, by expect
}

// startTerminal starts a REPL with args on a terminal of its own.
func startTerminal(t *testing.T, args ...string) *terminal {
	t.Helper()
	term := openTerminal(t, nil, args...)
	term.expect(prompt.First)
	return term
}

// openTerminal starts ppscript with args on a terminal of its own. If prepare is not nil, it is called
// with the command and the terminal before the start.
func openTerminal(t *testing.T, prepare func(cmd *exec.Cmd, ptm *os.File), args ...string) *terminal {
	t.Helper()
	testkit.Requires(t, testkit.Long)
	ptm, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	testkit.Requires(t, testkit.Core("a terminal", err))
	n, err := unix.IoctlGetInt(int(ptm.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(ptm.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	pts, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	testkit.Requires(t, testkit.Core("a terminal", err))
	defer pts.Close()
	if err := unix.IoctlSetWinsize(int(pts.Fd()), unix.TIOCSWINSZ,
		&unix.Winsize{Row: 50, Col: 200}); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	// The test binary is ppscript under this name: see testscript.Main.
	cmd.Args[0] = "ppscript"
	cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=1",
		"PPSCRIPTHISTORY="+filepath.Join(t.TempDir(), "history"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pts, pts, pts
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if prepare != nil {
		prepare(cmd, ptm)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, ptm: ptm, cmd: cmd, text: make(chan string, 1000)}
	go func() {
		defer close(term.text)
		b := make([]byte, 4096)
		for {
			n, err := ptm.Read(b)
			if n > 0 {
				term.text <- string(b[:n])
			}
			if err != nil {
				return // EIO: the last one closed it
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		ptm.Close()
	})
	return term
}

// send types.
func (m *terminal) send(keys string) {
	m.t.Helper()
	if _, err := m.ptm.WriteString(keys); err != nil {
		m.t.Fatal(err)
	}
}

// expect waits until want is shown after the text of the previous call, and returns all output up to
// it. The deadline only ends a test that has failed.
func (m *terminal) expect(want string) string {
	m.t.Helper()
	deadline := time.After(60 * time.Second)
	for {
		if i := strings.Index(m.out.String()[m.read:], want); i >= 0 {
			got := m.out.String()[m.read:][:i]
			m.read += i + len(want)
			return got
		}
		select {
		case s, ok := <-m.text:
			if !ok {
				m.t.Fatalf("the REPL ended; want %q behind\n%s", want, m.out.String())
			}
			m.out.WriteString(s)
		case <-deadline:
			m.t.Fatalf("no %q came behind %q", want, m.out.String()[m.read:])
		}
	}
}

// attached waits until ppscript waits for events of the kernel: programs or
// events are among its files, and for a while all of its threads sleep.
func (m *terminal) attached() {
	m.t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for quiet := 0; quiet < 20; time.Sleep(5 * time.Millisecond) {
		if quiet++; !m.has("fd/*", os.Readlink, "perf", "bpf") ||
			m.has("task/*/stat", readText, ") R", ") D") {
			quiet = 0
		}
		if time.Now().After(deadline) {
			m.t.Fatalf("the pipeline does not run\n%s", m.out.String())
		}
	}
}

// has reports that read, applied to one of the process's files in /proc, returns a text with one of the
// words.
func (m *terminal) has(pattern string, read func(string) (string, error), words ...string) bool {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/%s", m.cmd.Process.Pid, pattern))
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := read(file)
		return err == nil && slices.ContainsFunc(words, func(w string) bool {
			return strings.Contains(text, w)
		})
	})
}

func readText(file string) (string, error) {
	text, err := os.ReadFile(file)
	return string(text), err
}

// line types a line and waits for its result and the prompt.
func (m *terminal) line(text, want string) {
	m.t.Helper()
	m.send(text + "\r")
	m.expect("\n")
	m.expect(want)
	m.expect(prompt.First)
}

func TestREPL(t *testing.T) {
	m := startTerminal(t, "repl", "--input", "../../tests/data/trace.data")
	m.line("1 + 2", "3")
	m.send("def twice(x):\r")
	m.expect(prompt.More)
	m.send("    return x * 2\r")
	m.expect(prompt.More)
	m.send("\r")
	m.expect(prompt.First)
	m.line("twice(21)", "42")
}

func TestREPLErrorsComeBackToThePrompt(t *testing.T) {
	m := startTerminal(t, "repl")
	m.line("undefined_name", "undefined name undefined_name")
	m.line(")", "syntax")
	m.line("fail(\"on purpose\")", "on purpose")
	m.line("1", "1")
	m.send("\x04")
	for deadline := time.After(60 * time.Second); m.text != nil; {
		select {
		case _, ok := <-m.text:
			if !ok {
				m.text = nil
			}
		case <-deadline:
			t.Fatal("Ctrl-D: got no end")
		}
	}
	if err := m.cmd.Wait(); err != nil {
		t.Errorf("Ctrl-D: %v", err)
	}
}

// Keys that come as soon as the prompt is there are for the REPL: the terminal
// would take a Ctrl-D as the end of a file, and nobody would see it.
func TestREPLHasTheTerminalAtThePrompt(t *testing.T) {
	m := startTerminal(t, "repl", "--input", "../../tests/data/trace.data")
	for i := range 50 {
		if mode, err := unix.IoctlGetTermios(int(m.ptm.Fd()), unix.TCGETS); err != nil ||
			mode.Lflag&unix.ICANON != 0 {
			t.Fatalf("prompt %d: the terminal still edits lines (%v)", i, err)
		}
		m.line("1", "1")
		// Also where the line begins with its indentation.
		m.send("[1,\r")
		m.expect(prompt.More + "    ")
		m.send("\x03")
		m.expect(prompt.First)
	}
}

func TestREPLRunsPipelines(t *testing.T) {
	m := startTerminal(t, "repl", "--input", "../../tests/data/trace.data")
	m.line(`tracepoint("sched:sched_switch").by("prev_comm").count().top(2)`, "(1 more row)")
	m.line(`_.rows[0].prev_comm`, `"sh"`)
	m.line(`r = run(tracepoint("sched:sched_switch").count()); r.rows[0].count`, "\n")
	m.line(`tracepoint("sched:sched_swich").count()`, "did you mean sched:sched_switch?")
	m.line(`r`, "count")
}

func TestREPLInterrupt(t *testing.T) {
	m := startTerminal(t, "repl", "--duration", "1000s")
	// A loop in the language.
	m.send("def forever():\r    print(\"go\" + \"ing\")\r    while True:\r        pass\r\r")
	m.expect(prompt.First)
	m.send("forever()\r")
	m.expect("going")
	m.send("\x03")
	m.expect("interrupted")
	m.expect(prompt.First)
	m.line("6 * 7", "42")
	// A line that was begun.
	m.send("[1,\r")
	m.expect(prompt.More)
	m.send("\x03")
	m.expect(prompt.First)
	m.line("7 * 7", "49")
	if ok, _ := condition("live"); !ok {
		t.Log("not tried: interrupting a pipeline needs root and tracefs")
		return
	}
	m.send(`tracepoint("sched:sched_switch").count()` + "\r")
	m.expect("\n")
	m.attached()
	m.send("\x03")
	m.expect("count")
	m.expect(prompt.First)
	m.line("len(_.rows)", "1")
}

func TestREPLReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lib.star")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("def answer():\n    return 41\n")
	m := startTerminal(t, "repl", file)
	m.line("answer()", "41")
	write("def answer():\n    return 42\n")
	m.line("answer()", file+" changed: loaded again")
	m.line("answer()", "42")
	write("def answer(:\n")
	m.line("answer()", "what was loaded before goes on")
	m.line("answer()", "42") // told once
	m.line("reload()", "syntax")
	m.line("answer()", "42")
	write("def answer():\n    return 43\n")
	m.line("answer()", "43")
	// What a statement loads, and under which name.
	other := filepath.Join(t.TempDir(), "other.star")
	file = other
	write("load(\"./third.star\", \"x\")\ny = x\n")
	file = filepath.Join(filepath.Dir(other), "third.star")
	write("x = 1\n")
	m.line(`script("`+other+`")`, "no main")
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(wd, other)
	if err != nil {
		t.Fatal(err)
	}
	m.line(`load("./`+rel+`", z = "y")`, "")
	m.line("z", "1")
	write("x = 2\n")
	m.line("z", "changed: loaded again")
	m.line("z", "2")
}

func TestREPLCompletes(t *testing.T) {
	m := startTerminal(t, "repl", "--input", "../../tests/data/trace.data")
	f := func(typed, want string) {
		t.Helper()
		m.send(typed + "\t")
		m.expect(want)
		m.send("\x03")
		m.expect(prompt.First)
	}
	f("tracep", "tracepoint")
	f("agg.quan", "agg.quantile")
	f(`s = tracepoint("x:y").whe`, ".where")
	m.line(`s = tracepoint("sched:sched_switch")`, "")
	f("s.where(lambda e: e.prev_st", "e.prev_state")
	f(`s.by("next_co`, "next_comm")
	f("s.hist(", "value =")
	f(`use("../../tests/data/tra`, `use("../../tests/data/trace.`)
}
