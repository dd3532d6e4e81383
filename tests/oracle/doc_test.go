// Package oracle compares ppscript with other tools on real events, and with
// known numbers.
//
// If possible, two tools observe the same run: both attach to a target that
// waits (testkit.StartTarget), and then it works. Their counts must be equal,
// without tolerance. Only the target is observed, by default on CPU 0, so that
// other work does not matter.
package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ppscript/tests/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// live skips tests that cannot trace on this machine.
func live(t *testing.T, more ...testkit.Need) {
	t.Helper()
	testkit.Requires(t, append(append([]testkit.Need{}, testkit.Live...), more...)...)
	testkit.PPScript(t) // built now, not while another process waits to be observed
}

// attach starts ppscript on a target and returns when it is attached. args are
// the arguments of the program.
func attach(t *testing.T, l *testkit.Target, args ...string) *testkit.Process {
	t.Helper()
	p := testkit.Start(t, append([]string{testkit.PPScript(t)},
		append(args, "-v", "-p", strconv.Itoa(l.PID()))...)...)
	p.WaitStderr(" open event")
	return p
}

// controlledPerf is a perf that is attached but counts events only from begin
// on.
type controlledPerf struct {
	*testkit.Process
	control string
	ack     *os.File
	out     string
}

// attachPerf starts perf stat or record, with its output in a file.
func attachPerf(t *testing.T, l *testkit.Target, command string, args ...string) *controlledPerf {
	t.Helper()
	dir := t.TempDir()
	c := &controlledPerf{control: filepath.Join(dir, "control"), out: filepath.Join(dir, "out")}
	ack := filepath.Join(dir, "ack")
	for _, path := range []string{c.control, ack} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	words := []string{
		"perf", command, "-o", c.out, "-D", "-1", "--control", "fifo:" + c.control + "," + ack, "-p",
		strconv.Itoa(l.PID()),
	}
	c.Process = testkit.Start(t, append(words, args...)...)
	// Opened for reading and writing, a fifo does not block.
	control, err := os.OpenFile(c.control, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	c.ack, err = os.OpenFile(ack, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		control.Close()
		c.ack.Close()
	})
	if _, err := control.WriteString("enable\n"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := c.ack.Read(make([]byte, 16))
		done <- err
	}()
	select {
	case err = <-done:
	case <-t.Context().Done():
		err = t.Context().Err()
	}
	if err != nil {
		t.Fatalf("perf %s did not start: %v", command, err)
	}
	return c
}

// end stops perf and returns its output file.
func (c *controlledPerf) end() string {
	c.Stop()
	return c.out
}

// perfCounts parses the output of perf stat -x, : counts by event.
func perfCounts(t *testing.T, file string) map[string]int64 {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		words := strings.Split(line, ",")
		if len(words) < 3 {
			continue
		}
		n, err := strconv.ParseInt(words[0], 10, 64)
		if err != nil {
			t.Fatalf("perf stat: got %q", line)
		}
		counts[words[2]] = n
	}
	return counts
}

// last returns the last table in output.
func last(t *testing.T, output string) testkit.Table {
	t.Helper()
	tables := testkit.Tables(t, output)
	if len(tables) == 0 {
		t.Fatalf("no table in %q", output)
	}
	return tables[len(tables)-1]
}

// column maps one column to another over all rows.
func column(t *testing.T, table testkit.Table, key, value string) map[string]int64 {
	t.Helper()
	m := map[string]int64{}
	for _, row := range table.Rows {
		m[fmt.Sprint(row[key])] = row.Int(t, value)
	}
	return m
}

// noLoss checks that nothing of a table was lost.
func noLoss(t *testing.T, table testkit.Table) {
	t.Helper()
	// An event is late if its CPU took the time stamp but could not publish the
	// record for long, because the host took the CPU away. It is counted
	// nevertheless.
	if n := table.Loss["late"]; n > 2 {
		t.Errorf("got %d events late, want none", n)
	}
	for _, name := range []string{"lost", "dropped", "broken", "truncated", "evicted", "errors"} {
		if n := table.Loss[name]; n != 0 {
			t.Errorf("got %d events %s, want none", n, name)
		}
	}
}
