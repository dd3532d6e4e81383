package main

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// When reading takes longer than a second, a terminal shows a line of progress, which vanishes before
// results come.
func TestProgressOnTerminal(t *testing.T) {
	t.Parallel()
	recording, err := os.ReadFile("../../tests/data/pipe.data")
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	term := openTerminal(t, func(cmd *exec.Cmd, _ *os.File) { cmd.Stdin, cmd.SysProcAttr.Ctty = r, 1 },
		"--input", "-", "-c", `tracepoint("sched:sched_switch").by("prev_comm").count()`)
	r.Close()
	shown := make(chan struct{})
	tell := sync.OnceFunc(func() { close(shown) })
	defer tell()
	go func() {
		defer w.Close()
		// The rest comes once progress is shown.
		half := len(recording) / 2
		if _, err := w.Write(recording[:half]); err != nil {
			return
		}
		<-shown
		_, _ = w.Write(recording[half:])
	}()
	term.expect("reading: ")
	if got := term.expect("/s"); !strings.Contains(got, " B, ") && !strings.Contains(got, " KiB, ") {
		t.Errorf("got %q, want how much was read, and how fast", got)
	}
	tell()
	term.expect("\r\x1b[K1591.195954\r\n") // the line is gone before the table
	if got := term.expect("sh "); strings.Contains(got, "reading") {
		t.Errorf("got %q, want no progress among the rows", got)
	}
}
