package sent

import (
	"cmp"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file describes records. Every record is a row of columns. Package bpf chooses
// the columns and generates the code that fills them; rows.go reads them.

// A Column is one value of a record.
type Column struct {
	Origin Origin
	// Part is the event to which the value belongs: the record's event, or one of the two events
	// from which a derived event is made.
	Part expr.Part
	Of   *expr.Field // the field, if Origin is Field
	Slot int         // index of a value that an operator computed and that is not a field
	Form Form
	// Off is the offset of the value, which has Size bytes, after the head of the
	// record.
	Off, Size int
}

// An Origin says where the value of a column comes from.
type Origin uint8

const (
	Field       Origin = iota // a field of an event, or a value that an operator computed
	Time                      // the time of the event, on CLOCK_MONOTONIC, ns
	Delay                     // from the start of a pair to its end, ns
	Task                      // process in the upper half, thread in the lower
	Context                   // the CPU in the lower half; above it common_flags and common_preempt_count
	Stack                     // the hash of the call stack
	StackNumber               // the number of the call stack in a fold's table of stacks; 0 is no stack
	Source                    // 1 and the index of the event in perf.Config.Events; 0 is no event
	Function                  // the probed function, if a probe is on many; only programs read it
	Node                      // of a nested call: the node of the tree of calls
	Depth                     // of a nested call: the number of calls around it
	Inside                    // of a nested call: the time of the calls in it; only programs read it
	SelfTime                  // of a nested call: its own time, without the calls in it
	Key                       // of a fold: the key of the state, a number
	Reason                    // of an unpaired event: a join.Reason, why it has no partner
	Age                       // of an unpaired event: its age, ns
)

// Positions in a context, in bits.
const (
	ContextFlags   = 32
	ContextPreempt = 40
)

// A Form is the encoding of a column's value.
type Form uint8

const (
	Number   Form = iota
	Text          // followed by zeros
	Array         // an array, in the bytes of the event's own record
	Located       // the locator (offset and length) from the event's own record, then the text
	UserText      // the length with the NUL, 0 if the text was not in memory; then the text
	Read          // a number read from memory, and a word that is 0 if reading succeeded
)

// Lay sets the offsets of columns, from offset size on: the largest first, so that all are
// aligned. It returns the offset of their end.
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

// Moved returns copies of columns with by added to their offsets. The result is never nil, since
// nil would mean that the event is not kept.
func Moved(columns []Column, by int) []Column {
	columns = append([]Column{}, columns...)
	for i := range columns {
		columns[i].Off += by
	}
	return columns
}

// A Record describes the records of one stream of derived events. The indices of these
// streams follow those of perf.Config.Events, in the order of perf.Programs.Records.
type Record struct {
	Schema  *event.Schema
	Label   string
	Columns []Column
	// Slots is the number of values of the derived event. Values without a column are computed by
	// their readers.
	Slots int
	// Start and End are the events from which it is made; nil if they are not
	// sent.
	Start, End *Part
	// Texts is the end of the fixed part of the record. The last word of that part locates
	// the texts of the process, which were read at the start event; 0 without texts. See
	// texts.go.
	Texts int
	// Long returns a text that is longer than its column, by its hash. See
	// longtext.go.
	Long func(hash []byte) []byte
}

// A Part describes, within the record of a derived event, one of the events from which it is
// made. If the part's time, thread or CPU is not sent, the record's is used.
type Part struct {
	// Input is the index of the event in perf.Config.Events, or a larger one for a derived
	// event, which has values in place of a record, and whose stream is Stream.
	Input  int
	Stream *event.Stream
	// Inputs are used if the record has a Source, so that the part may be one of several events:
	// the columns of each, by Input. A nil entry is an event that the part cannot be.
	Inputs [][]Column
}

// MomentSize is the size of MomentColumns.
const MomentSize = 5 * 8

// MomentColumns returns the columns with which event a part is, its time,
// thread, CPU and stack.
func MomentColumns(part expr.Part, off int) (list []Column) {
	for _, o := range []Origin{Source, Time, Task, Context, StackNumber} {
		list = append(list, Column{Origin: o, Part: part, Off: off, Size: 8})
		off += 8
	}
	return list
}
