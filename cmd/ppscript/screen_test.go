package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ppscript/runtime/output/render"
	"ppscript/tests/testkit"

	"golang.org/x/sys/unix"
)

// This file tests live top on a pseudo-terminal. A shell that repeats a few kinds of system calls is
// observed.

// startTop starts top on a terminal, and returns the terminal's attributes from before the start.
func startTop(t *testing.T, args ...string) (m *terminal, before unix.Termios) {
	t.Helper()
	testkit.Requires(t, testkit.Live...)
	sh := testkit.Start(t, "sh", "-c", "while :; do read x </dev/null; kill -0 $$; done")
	prepare := func(_ *exec.Cmd, ptm *os.File) { before = termios(t, ptm) }
	m = openTerminal(t, prepare,
		append([]string{
			"top", "-e", "raw_syscalls:sys_enter//key=id/alias=calls/", "-p", strconv.Itoa(sh.PID()),
			"-i", "100ms",
		}, args...)...)
	return m, before
}

// termios are the attributes of the terminal behind ptm.
func termios(t *testing.T, ptm *os.File) unix.Termios {
	t.Helper()
	a, err := unix.IoctlGetTermios(int(ptm.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *a
}

// frame waits for a frame that is ok, and returns its lines as they are on the
// terminal. The deadline only ends a test that has failed.
func (m *terminal) frame(what string, ok func(lines []string) bool) []string {
	m.t.Helper()
	deadline := time.After(20 * time.Second)
	var lines []string
	for {
		select {
		case s, open := <-m.text:
			if !open {
				m.t.Fatalf("ppscript ended, want %s; the terminal got %q", what, m.out.String())
			}
			m.out.WriteString(s)
		case <-deadline:
			m.t.Fatalf("no frame has %s; the last one is\n%s", what, strings.Join(lines, "\n"))
		}
		for _, f := range strings.Split(m.out.String()[m.read:], "\x1b[H")[1:] {
			text, _, whole := strings.Cut(f, "\x1b[J")
			if !whole {
				continue
			}
			for _, sequence := range []string{"\x1b[K", "\x1b[7m", "\x1b[0m", "\x1b[1m", "\x1b[4m", "\r"} {
				text = strings.ReplaceAll(text, sequence, "")
			}
			if strings.Contains(text, "\x1b") {
				m.t.Fatalf("a sequence that nobody expects in %q", f)
			}
			if lines = strings.Split(text, "\n"); ok(lines) {
				m.read = m.out.Len()
				return lines
			}
		}
	}
}

// sorted reports that a column of the rows of a frame is in order.
func sorted(lines []string, column int, descending bool) bool {
	var numbers []int
	for _, line := range lines[2 : len(lines)-1] {
		cells := strings.Fields(line)
		if len(cells) == 0 {
			break
		}
		n, err := strconv.Atoi(cells[column])
		if err != nil {
			return false
		}
		numbers = append(numbers, n)
	}
	if descending {
		slices.Reverse(numbers)
	}
	return len(numbers) > 2 && slices.IsSorted(numbers)
}

// end waits for the end and returns the last output, the exit code, and
// the terminal's attributes.
func (m *terminal) end() (rest string, code int, after unix.Termios) {
	m.t.Helper()
	deadline := time.After(20 * time.Second)
	for open := true; open; {
		var s string
		select {
		case s, open = <-m.text:
			m.out.WriteString(s)
		case <-deadline:
			m.t.Fatal("ppscript does not end")
		}
	}
	_ = m.cmd.Wait() // the state has it
	return m.out.String()[m.read:], m.cmd.ProcessState.ExitCode(), termios(m.t, m.ptm)
}

func TestTopRedraws(t *testing.T) {
	m, before := startTop(t)
	any := m.frame("rows by calls", func(l []string) bool { return sorted(l, 1, true) })
	if len(any) != 50 || !strings.HasPrefix(any[0], "top - ") || !strings.Contains(any[0], " events") ||
		len(any[1]) != 200 ||
		strings.Join(strings.Fields(any[1]), " ") != "ID CALLS" || !strings.HasPrefix(any[49], "q quit") {
		t.Errorf("got\n%s\nwant 50 lines: time, a header of 200 cells, rows, help", strings.Join(any, "\n"))
	}
	if a := termios(t, m.ptm); a.Lflag&(unix.ECHO|unix.ICANON) != 0 {
		t.Error("the terminal echoes keys, or waits for lines")
	}
	m.send(">")
	m.frame("rows by id, the largest first", func(l []string) bool {
		return strings.Contains(l[len(l)-1], "sort: ID") && sorted(l, 0, true)
	})
	m.send("r")
	m.frame("rows by id, the smallest first", func(l []string) bool { return sorted(l, 0, false) })
	m.send("\x1b[D")
	m.frame("rows as before", func(l []string) bool {
		return strings.Contains(l[len(l)-1], "sort: as given")
	})

	resize := func(rows, cols uint16) {
		t.Helper()
		if err := unix.IoctlSetWinsize(int(m.ptm.Fd()), unix.TIOCSWINSZ,
			&unix.Winsize{Row: rows, Col: cols}); err != nil {
			t.Fatal(err)
		}
	}
	resize(5, 31)
	small := m.frame("five lines of 31 cells", func(l []string) bool {
		return len(l) == 5 && len(l[1]) == 31
	})
	for _, line := range small {
		if len(line) > 31 {
			t.Errorf("got %q, want 31 cells at most", line)
		}
	}
	resize(6, 100)
	m.frame("what is shown of how much", func(l []string) bool {
		return len(l) == 6 && strings.Contains(l[5], "1-3 of ")
	})
	m.send("\x1b[B")
	m.frame("the second row on top", func(l []string) bool { return strings.Contains(l[5], "2-4 of ") })

	m.send("p")
	paused := m.frame("that it is paused", func(l []string) bool { return strings.HasSuffix(l[0], "paused") })
	m.send("\x1b[A")
	still := m.frame("the first row on top", func(l []string) bool {
		return strings.Contains(l[5], "1-3 of ")
	})
	if !slices.Equal(still[3:5], paused[2:4]) {
		t.Errorf("got rows %q, want those of %q one further down", still[2:5], paused[2:5])
	}

	m.send("q")
	rest, code, after := m.end()
	_, below, left := strings.Cut(rest, render.LeaveScreen)
	if code != 0 || after != before || !left {
		t.Errorf("got exit code %d, attributes %+v, want 0 and %+v; the screen was left: %v", code,
			after, before, left)
	}
	if !strings.Contains(below, "CALLS") || strings.Contains(below, "\x1b") {
		t.Errorf("got %q behind the screen, want the last table as plain text", below)
	}
}

// Each key and signal that ends top makes it exit in order and restore the terminal.
func TestTopEnds(t *testing.T) {
	f := func(name string, end func(m *terminal), args ...string) {
		t.Run(name, func(t *testing.T) {
			m, before := startTop(t, args...)
			m.frame("rows", func(l []string) bool { return sorted(l, 1, true) })
			end(m)
			if _, code, after := m.end(); code != 0 || after != before {
				t.Errorf("got exit code %d, attributes %+v, want 0 and %+v", code, after, before)
			}
		})
	}
	f("Ctrl-C", func(m *terminal) { m.send("\x03") })
	f("SIGTERM", func(m *terminal) { _ = m.cmd.Process.Signal(syscall.SIGTERM) })
	f("--duration", func(*terminal) {}, "--duration", "1s")
}

// Where stdout is a pipe, nothing but text comes, also if stdin is a terminal.
func TestTopOnPipe(t *testing.T) {
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	prepare := func(cmd *exec.Cmd, _ *os.File) { cmd.Stdout = out }
	testkit.Requires(t, testkit.Live...)
	sh := testkit.Start(t, "sh", "-c", "while :; do read x </dev/null; kill -0 $$; done")
	m := openTerminal(t, prepare, "top", "-e", "raw_syscalls:sys_enter//key=id/alias=calls/", "-p",
		strconv.Itoa(sh.PID()), "-i", "100ms")
	var text string
	deadline := time.Now().Add(20 * time.Second)
	for ; strings.Count(text, " CALLS\n") < 2; time.Sleep(10 * time.Millisecond) {
		b, err := os.ReadFile(out.Name())
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("got %q, %v, want a table for each interval", b, err)
		}
		text = string(b)
	}
	if err := m.cmd.Process.Signal(unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	if _, code, _ := m.end(); code != 0 {
		t.Errorf("got exit code %d", code)
	}
	if strings.ContainsAny(text, "\x1b\r") {
		t.Errorf("got %q, want no sequences", text)
	}
}
