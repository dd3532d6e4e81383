package sent

import (
	"cmp"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file describes records: each is a row of columns, whatever it is of. Package bpf
// settles the columns and generates what fills them, rows.go reads them.

// A Column is one value of a record.
type Column struct {
	Origin Origin
	// Part says of which event it is: of the record's event, or of an event that this is made of.
	Part expr.Part
	Of   *expr.Field // the field, if the origin is one
	Slot int         // of a value that an operator computed and that is no field
	Form Form
	// Off is the place of the first of Size bytes, behind the head of the record.
	Off, Size int
}

// An Origin says what a column is the value of.
type Origin uint8

const (
	Field       Origin = iota // a field of an event, or a value that an operator computed
	Time                      // when the event was, on CLOCK_MONOTONIC, ns
	Delay                     // from the start of a pair to its end, ns
	Task                      // process in the upper half, thread in the lower
	Context                   // the CPU in the lower half; above it common_flags and common_preempt_count
	Stack                     // the hash of the call stack
	StackNumber               // the number under which a fold holds the call stack; 0 is none
	Source                    // 1 and the index of the event in perf.Config.Events; 0 is no event
	Function                  // which of many functions the event is of; programs alone read it
	Node                      // of a nested call: its number in the tree of calls
	Depth                     // of a nested call: how many calls it is in
	Inside                    // of a nested call: the time of the calls in it; programs alone read it
	SelfTime                  // of a nested call: its time without the calls in it
	Key                       // of a fold's state, a number
	Reason                    // a join.Reason: why an event has no partner
	Age                       // how long ago the event was that has no partner, ns
)

// The places in a context.
const (
	ContextFlags   = 32
	ContextPreempt = 40
)

// A Form says how the bytes of a column hold its value.
type Form uint8

const (
	Number   Form = iota
	Text          // with zeros behind it
	Array         // the words of the record
	Located       // a word that says where the record has the text and how long it is, then the text
	UserText      // the length with the NUL, 0 if it was not in memory; then the text
	Read          // a number, and a word that is 0 if it could be read
)

// Lay settles the places of columns behind so many bytes: the largest first, so that all are
// aligned. It returns where they end.
func Lay(columns []Column, size int) (end int) {
	slices.SortStableFunc(columns, func(a, b Column) int {
		return cmp.Compare(min(b.Size, 8), min(a.Size, 8))
	})
	for i := range columns {
		columns[i].Off = size
		size += columns[i].Size
	}
	return size
}

// Moved are columns so many bytes further on. They are not nil: an event may have no fields and be kept.
func Moved(columns []Column, by int) []Column {
	columns = append([]Column{}, columns...)
	for i := range columns {
		columns[i].Off += by
	}
	return columns
}

// A Record describes the records of one stream of events that operators make. Their streams
// have the indices behind those of perf.Config.Events, in the order of perf.Programs.Records.
type Record struct {
	Schema  *event.Schema
	Label   string
	Columns []Column
	// Slots is how many values the event itself has. Those without a column are for readers that know how
	// to compute them.
	Slots int
	// Start and End are the events that it is made of, as far as they are sent.
	Start, End *Part
	// Texts is the end of the fixed part, whose last word says where texts of the process are
	// that were read at the start; 0 if there are none. See texts.go.
	Texts int
	// Long finds a text that is longer than its place, by its hash. See longtext.go.
	Long func(hash []byte) []byte
}

// A Part describes an event that others are made of, within their record. What is not sent of
// its moment is taken from the record.
type Part struct {
	// Input is the index of the event in perf.Config.Events, or a larger one if operators make
	// it too; then it has no record, but values, and Stream is its stream.
	Input  int
	Stream *event.Stream
	// Inputs are the columns of each event that it may be, by Input, if the record has a Source; nil
	// is none.
	Inputs [][]Column
}

// MomentSize is the size of MomentColumns.
const MomentSize = 5 * 8

// MomentColumns tell which event a part is, and what is told of its moment.
func MomentColumns(part expr.Part, off int) (list []Column) {
	for _, o := range []Origin{Source, Time, Task, Context, StackNumber} {
		list = append(list, Column{Origin: o, Part: part, Off: off, Size: 8})
		off += 8
	}
	return list
}
