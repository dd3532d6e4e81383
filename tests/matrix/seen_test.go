package matrix

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// This file finds the target's work in results.

// eventCounter counts the observed events by thread, under "" if the result does not name the
// thread. Threads outside the target may be included.
type eventCounter func(t *testing.T, stdout string) map[string]int64

// rows adds up a column of the table that has it, over all rows or by a column
// with the thread.
func rows(column, by string) eventCounter {
	return rowsWhere(column, by, func(testkit.Row) bool { return true })
}

func rowsWhere(column, by string, where func(testkit.Row) bool) eventCounter {
	return func(t *testing.T, stdout string) map[string]int64 {
		t.Helper()
		sums := map[string]int64{}
		for _, x := range testkit.Tables(t, stdout) {
			for _, r := range x.Rows {
				if column != "" && r[column] == nil || !where(r) {
					continue
				}
				who := ""
				if by != "" {
					who = fmt.Sprint(r[by])
				}
				n := int64(1)
				if column != "" {
					n = r.Int(t, column)
				}
				sums[who] += n
			}
		}
		return sums
	}
}

// columnIs keeps rows with a value in a column.
func columnIs(column, value string) func(testkit.Row) bool {
	return func(r testkit.Row) bool { return fmt.Sprint(r[column]) == value }
}

// notAll leaves out rows with sums of all rows.
func notAll(r testkit.Row) bool { return r["cpu"] != "ALL" && r["thread"] != "ALL" }

// anybody adds up the counts of all threads.
func anybody(s eventCounter) eventCounter {
	return func(t *testing.T, stdout string) map[string]int64 {
		t.Helper()
		n := map[string]int64{}
		for _, v := range s(t, stdout) {
			n[""] += v
		}
		return n
	}
}

// hrtimerCalls adds up the calls of the periods that hrtimer shows.
func hrtimerCalls(t *testing.T, stdout string) map[string]int64 {
	t.Helper()
	n := map[string]int64{}
	for _, e := range testkit.Events(t, stdout) {
		if count, ok := e.Fields["sys_enter"].(json.Number); ok {
			v, err := count.Int64()
			if err != nil {
				t.Fatal(err)
			}
			n[""] += v
		}
	}
	return n
}

// explained counts the spans that are explained, and those that were skipped because there
// were too many.
func explained(t *testing.T, stdout string) map[string]int64 {
	t.Helper()
	n := map[string]int64{}
	for _, w := range testkit.All[struct {
		Slow    struct{ Spans int64 }
		Skipped int64
	}](t, stdout, "why") {
		n[""] += w.Slow.Spans + w.Skipped
	}
	return n
}

// lines counts the lines of a log by thread.
func lines(event string) eventCounter {
	return linesBy(event, func(e testkit.Event) string { return e.Comm })
}

func linesBy(event string, by func(testkit.Event) string) eventCounter {
	return func(t *testing.T, stdout string) map[string]int64 {
		t.Helper()
		n := map[string]int64{}
		for _, e := range testkit.Events(t, stdout) {
			if ok, err := regexp.MatchString("^(?:"+event+")$", e.Event); err != nil {
				t.Fatal(err)
			} else if ok {
				n[by(e)]++
			}
		}
		return n
	}
}

// field returns a field of an event as text.
func field(name string) func(testkit.Event) string {
	return func(e testkit.Event) string { return fmt.Sprint(e.Fields[name]) }
}

// samples counts the samples of a result with stacks.
func samples(name string) eventCounter {
	return func(t *testing.T, stdout string) map[string]int64 {
		t.Helper()
		n := map[string]int64{}
		for _, x := range testkit.All[struct {
			Name   string
			Stacks []struct{ Count int64 }
		}](t, stdout, "stacks") {
			for _, s := range x.Stacks {
				if x.Name == name {
					n[""] += s.Count
				}
			}
		}
		return n
	}
}

// columns returns the column names of a run's tables, in order.
func columns(t *testing.T, stdout string) (tables [][]string) {
	t.Helper()
	known := map[string]bool{}
	for _, x := range testkit.All[struct {
		Name    string
		Columns []struct{ Name string }
	}](t, stdout, "table") {
		if known[x.Name] {
			continue
		}
		known[x.Name] = true
		var names []string
		for _, c := range x.Columns {
			names = append(names, c.Name)
		}
		tables = append(tables, names)
	}
	return tables
}

// inOrder returns a pattern for a line with the words in this order.
func inOrder(words []string) *regexp.Regexp {
	var quoted []string
	for _, w := range words {
		quoted = append(quoted, regexp.QuoteMeta(w))
	}
	return regexp.MustCompile("(?m)^.*" + strings.Join(quoted, ".*") + ".*$")
}

// notJSON returns the first line that is not one object; "" if there is none.
func notJSON(stdout string) string {
	for line := range strings.Lines(stdout) {
		var o map[string]any
		if !strings.HasSuffix(line, "\n") || json.Unmarshal([]byte(line), &o) != nil {
			return line
		}
	}
	return ""
}

// logLine matches the beginning of a line of a log.
const logLine = `(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} .* +\d+ [^[]*\[\d{3}\] \d+\.\d{6}: `
