package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"ppscript/cmd/ppscript/console"
)

// This file shows how tests went: as text while they run, as lines of JSON, or
// as the XML that JUnit writes and that build servers read.

// A testResult is one test that ran. A file that cannot be loaded is a result
// without a name.
type testResult struct {
	file, name, pos string
	err             error
	prints          []string
	took            time.Duration
}

// A testReporter is told of tests in their order, and of each file after its
// tests.
type testReporter interface {
	test(r *testResult)
	file(name string, tests, failed int, took time.Duration)
	end(tests, failed int) error
}

var testFormats = []string{"text", "json", "junit"}

func newTestReporter(format string, w io.Writer, verbose bool) testReporter {
	switch format {
	case "json":
		return &jsonTests{w: w}
	case "junit":
		return &junitTests{w: w}
	}
	return &textTests{w: w, verbose: verbose}
}

type textTests struct {
	w       io.Writer
	verbose bool
}

func (t *textTests) test(r *testResult) {
	what := r.name
	if r.pos != "" {
		what += " (" + r.pos + ")"
	}
	switch {
	case r.err != nil && what == "":
		fmt.Fprintf(t.w, "--- FAIL: %s\n%s\n", r.file, indent(failure(r.err)))
	case r.err != nil:
		fmt.Fprintf(t.w, "--- FAIL: %s\n%s\n", what, indent(failure(r.err)))
	case t.verbose:
		fmt.Fprintf(t.w, "--- ok: %s (%s)\n", r.name, r.took.Round(time.Millisecond))
	}
	if t.verbose || r.err != nil {
		for _, p := range r.prints {
			fmt.Fprintln(t.w, "    "+p)
		}
	}
}

func (t *textTests) file(name string, tests, failed int, took time.Duration) {
	verdict := "ok  "
	if failed > 0 {
		verdict = "FAIL"
	}
	if tests > 0 {
		fmt.Fprintf(t.w, "%s  %s  %d tests  %s\n", verdict, name, tests, took.Round(time.Millisecond))
	}
}

func (t *textTests) end(tests, failed int) error {
	if failed == 0 {
		return nil
	}
	_, err := fmt.Fprintf(t.w, "%d of %d tests failed\n", failed, tests)
	return err
}

// failure is the error of a test, with the lines that it is about.
func failure(err error) string {
	var parts []string
	for _, e := range console.Flatten(err) {
		text := e.Error()
		if x := console.ExcerptOf(e); x != "" {
			text += "\n" + x
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n")
}

func indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }

type jsonTests struct {
	w   io.Writer
	err error
}

type testRecord struct {
	V       int               `json:"v"`
	Type    string            `json:"type"`
	File    string            `json:"file"`
	Test    string            `json:"test,omitempty"` // absent: the file could not be loaded
	Line    int               `json:"line,omitempty"`
	OK      bool              `json:"ok"`
	Seconds float64           `json:"seconds"`
	Output  []string          `json:"output,omitempty"`
	Errors  []console.Problem `json:"errors,omitempty"`
}

func (t *jsonTests) write(record any) {
	if err := console.WriteJSON(t.w, record); t.err == nil {
		t.err = err
	}
}

func (t *jsonTests) test(r *testResult) {
	_, line, _ := console.SplitPlace(r.pos)
	rec := testRecord{
		V:       1,
		Type:    "test",
		File:    r.file,
		Test:    r.name,
		Line:    line,
		OK:      r.err == nil,
		Seconds: r.took.Seconds(),
		Output:  r.prints,
	}
	if r.err != nil {
		rec.Errors = console.Problems(r.err)
	}
	t.write(rec)
}

func (t *jsonTests) file(string, int, int, time.Duration) {}

func (t *jsonTests) end(tests, failed int) error {
	t.write(struct {
		V      int    `json:"v"`
		Type   string `json:"type"`
		Tests  int    `json:"tests"`
		Failed int    `json:"failed"`
	}{1, "end", tests, failed})
	return t.err
}

// junitTests collects: its counts come before its tests.
type junitTests struct {
	w      io.Writer
	suites []junitSuite
	cases  []junitCase
}

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	Classname string        `xml:"classname,attr"`
	File      string        `xml:"file,attr"`
	Line      int           `xml:"line,attr,omitempty"`
	Time      string        `xml:"time,attr"`
	Failure   *junitFailure `xml:"failure"`
	Error     *junitFailure `xml:"error"` // of a file that could not be loaded
	Out       string        `xml:"system-out,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func (t *junitTests) test(r *testResult) {
	_, line, _ := console.SplitPlace(r.pos)
	c := junitCase{Name: r.name, Classname: strings.TrimSuffix(r.file, ".star"), File: r.file, Line: line,
		Time: seconds(r.took),
		Out:  strings.Join(r.prints, "\n")}
	if r.err != nil {
		first, _, _ := strings.Cut(failure(r.err), "\n")
		c.Failure = &junitFailure{Message: first, Text: failure(r.err)}
	}
	if r.name == "" {
		c.Name, c.Error, c.Failure = "load", c.Failure, nil
	}
	t.cases = append(t.cases, c)
}

func (t *junitTests) file(name string, _, _ int, took time.Duration) {
	s := junitSuite{Name: name, Tests: len(t.cases), Time: seconds(took), Cases: t.cases}
	for _, c := range t.cases {
		if c.Failure != nil {
			s.Failures++
		}
		if c.Error != nil {
			s.Errors++
		}
	}
	t.cases = nil
	if s.Tests > 0 {
		t.suites = append(t.suites, s)
	}
}

func (t *junitTests) end(tests, failed int) error {
	all := struct {
		XMLName  xml.Name `xml:"testsuites"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Suites   []junitSuite
	}{Tests: tests, Failures: failed, Suites: t.suites}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(t.w, xml.Header+string(text)+"\n")
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
