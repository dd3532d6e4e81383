package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// This file reads the output of `go test -json` and prints the important parts.

// A testEvent is a line of `go test -json`.
type testEvent struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64 // seconds
}

// A testName is a test or, without a name, a package.
type testName struct{ pkg, test string }

func (n testName) String() string {
	return strings.TrimPrefix(n.pkg, module) + " " + n.test
}

type report struct {
	mu     sync.Mutex
	out    io.Writer
	output map[testName]*bytes.Buffer // output of tests and packages that have not ended

	passed, failed int
	broken         bool // the go command failed
	faults         []error
	skipped        map[string][]testName // skipped tests by need
	remedies       map[string]string
	again          map[testName]*tries
	elapsed        map[testName]float64
}

func newReport(out io.Writer) *report {
	return &report{
		out: out, output: map[testName]*bytes.Buffer{}, skipped: map[string][]testName{},
		remedies: map[string]string{}, again: map[testName]*tries{}, elapsed: map[testName]float64{},
	}
}

func (r *report) fault(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, err)
}

func (r *report) failedRun() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = true
}

// line takes one line of the go command's output.
func (r *report) line(text []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var e testEvent
	if err := json.Unmarshal(text, &e); err != nil {
		r.out.Write(text) // a message of the go command itself
		return
	}
	name := testName{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		io.WriteString(r.out, e.Output)
	case "output":
		r.addOutput(name, e.Output)
	case "pass", "fail", "skip":
		r.ended(name, e)
	}
}

// addOutput keeps the output of a test, and prints that of a package, as go test does.
func (r *report) addOutput(name testName, text string) {
	r.tried(name, text)
	if name.test == "" {
		if text != "PASS\n" && !strings.Contains(text, "[no tests to run]") {
			io.WriteString(r.out, text)
		}
		return
	}
	if r.output[name] == nil {
		r.output[name] = &bytes.Buffer{}
	}
	r.output[name].WriteString(text)
}

// tries are the tries of a test that repeated its measurement.
type tries struct {
	n      int
	indent int // indent of the line that reports a try; -1 outside of such a report
	wrong  []string
}

// mostWrong is the largest number of lines with the reasons of a repetition.
const mostWrong = 12

// tried records that a test repeats its measurement, with the lines after this message, which
// have the reasons.
func (r *report) tried(name testName, text string) {
	text = strings.TrimRight(text, "\r\n")
	line := strings.TrimLeft(text, " ")
	indent := len(text) - len(line)
	t := r.again[name]
	switch {
	case strings.Contains(text, "tried again"):
		if t == nil {
			t = &tries{}
			r.again[name] = t
		}
		t.n++
		t.indent = indent
	case t == nil || t.indent < 0:
	case indent <= t.indent:
		t.indent = -1
	case len(t.wrong) < mostWrong:
		t.wrong = append(t.wrong, line)
	}
}

func (r *report) ended(name testName, e testEvent) {
	r.elapsed[name] = e.Elapsed
	text := r.output[name]
	delete(r.output, name)
	if text == nil {
		text = &bytes.Buffer{}
	}
	switch {
	case name.test == "":
		if e.Action == "fail" {
			r.unended(name.pkg)
		}
	case e.Action == "pass":
		r.passed++
	case e.Action == "fail":
		r.failed++
		r.out.Write(text.Bytes())
	default:
		r.leftOut(name, text.String())
	}
}

// unended prints the output of tests that did not end, because a panic or a time-out ended
// their package.
func (r *report) unended(pkg string) {
	for name, text := range r.output {
		if name.pkg == pkg {
			r.failed++
			r.out.Write(text.Bytes())
			delete(r.output, name)
		}
	}
}

// needs matches the message of testkit.Requires: "needs NAME (REMEDY); NAME
// (REMEDY)".
var (
	needs   = regexp.MustCompile(`(?m)^\s+\S+\.go:\d+: needs (.*)$`)
	remedy  = regexp.MustCompile(`^(.*?) \((.*)\)$`)
	anyText = regexp.MustCompile(`(?m)^\s+\S+\.go:\d+: (.*)$`)
)

func (r *report) leftOut(name testName, text string) {
	m := needs.FindStringSubmatch(text)
	if m == nil {
		reason := "another reason"
		if m := anyText.FindStringSubmatch(text); m != nil {
			reason = m[1]
		}
		r.skipped[reason] = append(r.skipped[reason], name)
		return
	}
	for _, need := range strings.Split(m[1], "; ") {
		if parts := remedy.FindStringSubmatch(need); parts != nil {
			need = parts[1]
			r.remedies[need] = parts[2]
		}
		r.skipped[need] = append(r.skipped[need], name)
	}
}

// close prints the summary. It is an error if anything failed.
func (r *report) close(o options) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slowest(o.slowest)
	sum := 0
	for _, name := range slices.SortedFunc(maps.Keys(r.again), byName) {
		t := r.again[name]
		sum += t.n
		fmt.Fprintf(r.out, "tried again %d times: %v\n", t.n, name)
		for _, line := range t.wrong {
			fmt.Fprintf(r.out, "    %s\n", line)
		}
	}
	left := map[testName]bool{}
	for _, need := range slices.Sorted(maps.Keys(r.skipped)) {
		for _, name := range r.skipped[need] {
			left[name] = true
		}
		fmt.Fprintf(r.out, "left out, for want of %s: %d\n", need, len(r.skipped[need]))
		if how := r.remedies[need]; how != "" {
			fmt.Fprintf(r.out, "    %s\n", how)
		}
	}
	if !o.all && !o.race {
		fmt.Fprintln(r.out, "guests, other tools' numbers, browsers and packages: make test-all")
	}
	if sum > 0 {
		fmt.Fprintf(r.out, "measurements tried again: %d\n", sum)
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", r.passed, r.failed, len(left))
	if r.failed > 0 || r.broken {
		r.faults = append(r.faults, errors.New("tests failed"))
	}
	return errors.Join(r.faults...)
}

func byName(a, b testName) int { return cmp.Compare(a.String(), b.String()) }

// slowest prints the tests and the packages that took longest.
func (r *report) slowest(n int) {
	if n == 0 {
		return
	}
	for _, packages := range []bool{true, false} {
		var list []testName
		for name := range r.elapsed {
			if (name.test == "") == packages && !strings.Contains(name.test, "/") {
				list = append(list, name)
			}
		}
		slices.SortFunc(list, func(a, b testName) int { return cmp.Compare(r.elapsed[b], r.elapsed[a]) })
		for _, name := range list[:min(n, len(list))] {
			fmt.Fprintf(r.out, "%7.1f s  %v\n", r.elapsed[name], name)
		}
	}
}
