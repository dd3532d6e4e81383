package mergeable

import (
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/result"
)

// Version is the version of the encoding of frames.
const Version = 2

// Header is the first line of a stream of frames.
const Header = "ppscript partial 1\n"

// MaxFrame is the maximum length of a frame in bytes. It is below the default limit of a NATS
// server, 1 MiB.
const MaxFrame = 960 << 10

// A Frame has results of one machine in a window, or merged results of several
// machines. A window may need several frames.
type Frame struct {
	Host   string
	Script [32]byte // SHA-256 of the script that ran
	// Seq numbers the frames of a run, from 1.
	Seq uint64
	// Begin and End bound the window, on the wall clock, in ns since 1970.
	Begin, End int64
	// More says that other frames for the same window follow, Final that this window is the
	// last one.
	More, Final bool
	Results     []Result
	// Shares describe the frames that were merged into this one; empty if one machine made it.
	Shares []Share
}

// Window returns the begin and the end of the frame's window.
func (f *Frame) Window() (from, to time.Time) { return time.Unix(0, f.Begin), time.Unix(0, f.End) }

// A Kind says which shape a result has, and so which of its members are set.
type Kind uint8

// The kinds of results.
const (
	Table Kind = iota + 1
	Histogram
	Stacks
	Lines
)

// A Result is one of a window's results, or a part of one.
type Result struct {
	Kind                  Kind
	Name, Title           string
	Samples, TotalSamples uint64
	Loss                  event.Loss
	Costs                 Costs

	Form *Form // of tables and histograms; else nil
	Rows []Row
	// Lines are events or pairs in the form of text output; Omitted counts the lines beyond
	// MostLines.
	Lines   []string
	Omitted uint64
	Host    string // the machine that the lines come from, in merged frames
	Stacks  *result.Stacks
}

// A Form describes the rows of a table or histogram: columns and aggregators.
type Form struct {
	Columns []result.Column // keys first
	Keys    int
	Aggs    []agg.Agg
	Args    int
}

// A Row is a row with the names that the kernel prints for its keys; "" is no name. Called has the
// names of values in the row's other cells, such as a minimum. Each value is named only once in a
// result, in any of its rows.
type Row struct {
	agg.Row
	Names  []string
	Called []KernelName
}

// KernelName is the name that the kernel prints for a value in the cells of an
// aggregator.
type KernelName struct {
	Agg   int // index in Form.Aggs
	Value event.Value
	Name  string
}
