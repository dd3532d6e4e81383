package testkit

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// This file reads the output of --format json: one object on each line, an
// envelope with a type.

// A Record is one line of ppscript's JSON.
type Record struct {
	V    int
	Type string
	Data json.RawMessage
}

// Records splits output into records. A line that is no record fails the test.
func Records(t testing.TB, output string) []Record {
	t.Helper()
	var records []Record
	for line := range strings.Lines(output) {
		if !strings.HasPrefix(line, "{") {
			continue // a line that the workload printed
		}
		var r Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("parse %q: %v", line, err)
		}
		if r.V != 1 {
			t.Fatalf("%q: got version %d, want 1", line, r.V)
		}
		records = append(records, r)
	}
	return records
}

// A Table is a record of type table.
type Table struct {
	Name, Title  string
	Seq          int
	Final        bool
	Samples      int64 // of this interval
	TotalSamples int64 `json:"total_samples"`
	Loss         map[string]int64
	Cost         map[string]float64
	Rows         []Row
}

// A Row is a row's cells by column.
type Row map[string]any

// Int returns a cell that must be an integer.
func (r Row) Int(t testing.TB, column string) int64 {
	t.Helper()
	n, ok := r[column].(json.Number)
	if !ok {
		t.Fatalf("column %s: got %v (%T), want a number; the row is %v", column, r[column], r[column], r)
	}
	i, err := n.Int64()
	if err != nil {
		t.Fatalf("column %s: %v", column, err)
	}
	return i
}

// Float returns a cell that must be a number.
func (r Row) Float(t testing.TB, column string) float64 {
	t.Helper()
	n, ok := r[column].(json.Number)
	if !ok {
		t.Fatalf("column %s: got %v (%T), want a number; the row is %v", column, r[column], r[column], r)
	}
	f, err := n.Float64()
	if err != nil {
		t.Fatalf("column %s: %v", column, err)
	}
	return f
}

// Text returns a cell that must be a text.
func (r Row) Text(t testing.TB, column string) string {
	t.Helper()
	s, ok := r[column].(string)
	if !ok {
		t.Fatalf("column %s: got %v (%T), want a text", column, r[column], r[column])
	}
	return s
}

// An Event is a record of type event: a line of a log.
type Event struct {
	Name   string
	Time   int64
	Comm   string
	PID    int
	TID    int
	CPU    int
	Flags  string // as in the kernel's trace
	Event  string
	Fields map[string]any
	Text   string
	Stack  []Frame
	Waker  []Frame `json:"waker_stack"` // only in logs of task-state
}

// A Frame is one function of a stack.
type Frame struct{ Addr, Symbol string }

// Tables returns the tables in output.
func Tables(t testing.TB, output string) []Table {
	t.Helper()
	return All[Table](t, output, "table")
}

// Events returns the lines of logs in output.
func Events(t testing.TB, output string) []Event {
	t.Helper()
	return All[Event](t, output, "event")
}

// All returns the records of a type.
func All[T any](t testing.TB, output, kind string) []T {
	t.Helper()
	var list []T
	for _, r := range Records(t, output) {
		if r.Type != kind {
			continue
		}
		var one T
		d := json.NewDecoder(bytes.NewReader(r.Data))
		d.UseNumber()
		if err := d.Decode(&one); err != nil {
			t.Fatalf("parse %s: %v", r.Data, err)
		}
		list = append(list, one)
	}
	return list
}
