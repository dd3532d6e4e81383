package main

import (
	"bytes"
	"context"
	_ "embed" // the program in C
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A runner runs jobs and reads the loop's report.
type runner struct {
	calls int
	dir   string
	loop  func(work string, calls int) []string // the loop's command line
	// program is the program in C; "" if there is no compiler.
	program string
}

// newRunner makes a runner; program is the path of the compiled program in C, if the
// caller has it.
func newRunner(calls int, program string) (*runner, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	r := &runner{calls: calls, dir: dir, program: program}
	if program == "" {
		r.program = compiled(dir)
	}
	r.loop = func(work string, calls int) []string {
		if work == workC {
			return []string{r.program, strconv.Itoa(calls), r.report()}
		}
		return []string{self, "-work", work, "-calls", strconv.Itoa(calls), "-report", r.report()}
	}
	return r, nil
}

func (r *runner) close()         { os.RemoveAll(r.dir) }
func (r *runner) report() string { return filepath.Join(r.dir, "ns") }

// programSource is the program in C.
//
//go:embed testdata/probed.c
var programSource []byte

// compiled compiles the program in C into a directory and returns its path; "" if
// that is not possible.
func compiled(dir string) string {
	program := filepath.Join(dir, "probed")
	compile := exec.Command("gcc", "-O2", "-o", program, "-x", "c", "-")
	compile.Stdin = bytes.NewReader(programSource)
	if err := compile.Run(); err != nil {
		return ""
	}
	return program
}

// errMissing is the error of a job whose tracer is not installed.
var errMissing = errors.New("not here")

// run does one round of j.
func (r *runner) run(ctx context.Context, j *job) {
	m, err := r.once(ctx, j)
	if err != nil {
		j.err = err
		return
	}
	j.observed = m.observed && (j.observed || len(j.ns) == 0)
	j.ns = append(j.ns, m.nsPerCall)
	j.start = append(j.start, m.startMS)
	j.peak = max(j.peak, m.peakMB)
}

// A measurement is the result of one run.
type measurement struct {
	nsPerCall, startMS, peakMB float64
	observed                   bool
}

func (r *runner) once(ctx context.Context, j *job) (m measurement, err error) {
	calls := max(1, r.calls/max(1, j.divide))
	if j.needs != nil {
		if err := j.needs(); err != nil {
			return m, err
		}
	}
	if j.work == workC && r.program == "" {
		return m, fmt.Errorf("gcc: %w", errMissing)
	}
	args := expand(j.args, r.loop(j.work, calls))
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], programWord, r.program)
	}
	if _, err := exec.LookPath(args[0]); err != nil {
		return m, fmt.Errorf("%s: %w", args[0], errMissing)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	os.Remove(r.report())
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	// The signal lets a tracer remove its programs and probes from the kernel.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = limit
	started := time.Now()
	output, err := cmd.CombinedOutput()
	if err != nil {
		return m, fmt.Errorf("%w: %s", err, lastLine(output))
	}
	text, err := os.ReadFile(r.report())
	if err != nil {
		return m, fmt.Errorf("the loop did not run: %s", lastLine(output))
	}
	took, began, _ := strings.Cut(string(text), " ")
	ns, err := strconv.ParseFloat(took, 64)
	if err != nil {
		return m, err
	}
	at, err := strconv.ParseInt(began, 10, 64)
	if err != nil {
		return m, err
	}
	m.nsPerCall = ns / float64(calls)
	m.startMS = float64(at-started.UnixNano()) / 1e6
	if ru, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		m.peakMB = float64(ru.Maxrss) / 1024 // of the largest child process
	}
	m.observed = mentions(output, calls)
	return m, nil
}

// expand puts the loop's command line in the place of loopWord. A tracer's
// option that takes the command as one word splits it at blanks itself.
func expand(args, loop []string) []string {
	var words []string
	for i, arg := range args {
		switch {
		case arg != loopWord:
			words = append(words, arg)
		case i > 0 && args[i-1] == "-c":
			words = append(words, strings.Join(loop, " "))
		default:
			words = append(words, loop...)
		}
	}
	return words
}

var (
	wholeNumber = regexp.MustCompile(`[0-9][0-9,]*`)
	// ofLoop reports whether a row is about the loop's system call, by name or
	// number: 110 on amd64, 173 on arm64.
	ofLoop = regexp.MustCompile(`getppid|\b` + strconv.Itoa(unix.SYS_GETPPID) + `\b`)
)

// mentions reports whether the output has the number of calls, or up to a
// hundredth more: some tracers count all system calls together. For a tracer
// that prints a table of the last second each second, the number is the sum
// over the rows of the loop's call.
func mentions(output []byte, calls int) bool {
	enough := func(n int) bool { return n >= calls && n <= calls+calls/100 }
	var sums []int // by the position of the number in its row
	for line := range bytes.Lines(output) {
		rowOfLoop := ofLoop.Match(line)
		for i, word := range wholeNumber.FindAll(line, -1) {
			n, err := strconv.Atoi(strings.ReplaceAll(string(word), ",", ""))
			if err != nil {
				continue
			}
			if enough(n) {
				return true
			}
			if !rowOfLoop {
				continue
			}
			for len(sums) <= i {
				sums = append(sums, 0)
			}
			sums[i] += n
		}
	}
	return slices.ContainsFunc(sums, enough)
}

func lastLine(output []byte) string {
	output = bytes.TrimSpace(output)
	return string(output[bytes.LastIndexByte(output, '\n')+1:])
}
