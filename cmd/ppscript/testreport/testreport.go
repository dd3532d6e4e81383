// Package testreport writes the results of tests of scripts: as text while they
// run, as lines of JSON, or as JUnit XML for build servers.
package testreport

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"ppscript/cmd/ppscript/terminal/console"
)

// A Result is the result of one test. For a file that cannot be loaded there is
// one Result without a Name.
type Result struct {
	File, Name, Pos string
	Err             error
	Prints          []string
	Took            time.Duration
}

// A Reporter writes results. Test is called for each test in order, File after
// the tests of each file, and End last.
type Reporter interface {
	Test(r *Result)
	File(name string, tests, failed int, took time.Duration)
	End(tests, failed int) error
}

var Formats = []string{"text", "json", "junit"}

func New(format string, w io.Writer, verbose bool) Reporter {
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

func (t *textTests) Test(r *Result) {
	what := r.Name
	if r.Pos != "" {
		what += " (" + r.Pos + ")"
	}
	switch {
	case r.Err != nil && what == "":
		fmt.Fprintf(t.w, "--- FAIL: %s\n%s\n", r.File, indent(failure(r.Err)))
	case r.Err != nil:
		fmt.Fprintf(t.w, "--- FAIL: %s\n%s\n", what, indent(failure(r.Err)))
	case t.verbose:
		fmt.Fprintf(t.w, "--- ok: %s (%s)\n", r.Name, r.Took.Round(time.Millisecond))
	}
	if t.verbose || r.Err != nil {
		for _, p := range r.Prints {
			fmt.Fprintln(t.w, "    "+p)
		}
	}
}

func (t *textTests) File(name string, tests, failed int, took time.Duration) {
	verdict := "ok  "
	if failed > 0 {
		verdict = "FAIL"
	}
	if tests > 0 {
		fmt.Fprintf(t.w, "%s  %s  %d tests  %s\n", verdict, name, tests, took.Round(time.Millisecond))
	}
}

func (t *textTests) End(tests, failed int) error {
	if failed == 0 {
		return nil
	}
	_, err := fmt.Fprintf(t.w, "%d of %d tests failed\n", failed, tests)
	return err
}

// failure returns the text of a test's error, with the lines of the script that
// it is about.
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

func (t *jsonTests) Test(r *Result) {
	_, line, _ := console.SplitPlace(r.Pos)
	rec := testRecord{
		V:       1,
		Type:    "test",
		File:    r.File,
		Test:    r.Name,
		Line:    line,
		OK:      r.Err == nil,
		Seconds: r.Took.Seconds(),
		Output:  r.Prints,
	}
	if r.Err != nil {
		rec.Errors = console.Problems(r.Err)
	}
	t.write(rec)
}

func (t *jsonTests) File(string, int, int, time.Duration) {}

func (t *jsonTests) End(tests, failed int) error {
	t.write(struct {
		V      int    `json:"v"`
		Type   string `json:"type"`
		Tests  int    `json:"tests"`
		Failed int    `json:"failed"`
	}{1, "end", tests, failed})
	return t.err
}

// junitTests collects all results until End, since the XML has the counts
// before the tests.
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
	Error     *junitFailure `xml:"error"` // the file could not be loaded
	Out       string        `xml:"system-out,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func (t *junitTests) Test(r *Result) {
	_, line, _ := console.SplitPlace(r.Pos)
	c := junitCase{Name: r.Name, Classname: strings.TrimSuffix(r.File, ".star"), File: r.File, Line: line,
		Time: seconds(r.Took),
		Out:  strings.Join(r.Prints, "\n")}
	if r.Err != nil {
		first, _, _ := strings.Cut(failure(r.Err), "\n")
		c.Failure = &junitFailure{Message: first, Text: failure(r.Err)}
	}
	if r.Name == "" {
		c.Name, c.Error, c.Failure = "load", c.Failure, nil
	}
	t.cases = append(t.cases, c)
}

func (t *junitTests) File(name string, _, _ int, took time.Duration) {
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

func (t *junitTests) End(tests, failed int) error {
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
