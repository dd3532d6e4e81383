package mergeable

import (
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/result"
)

// Version is the version of the form of frames.
const Version = 2

// Header begins a stream of frames.
const Header = "ppscript partial 1\n"

// MaxFrame is how long a frame may be. It is below what a NATS server takes by default, a MiB.
const MaxFrame = 960 << 10

// A Frame is what one machine found out in a window, or a part of it.
type Frame struct {
	Host   string
	Script [32]byte // SHA-256 of what ran
	// Seq numbers the frames of a run, from 1.
	Seq uint64
	// Begin and End bound the window, on the wall clock, in ns since 1970.
	Begin, End int64
	// More says that other frames about the window follow, Final that no other window does.
	More, Final bool
	Results     []Result
	// Shares are the shares of the frames that were put together in this one; none if one machine made it.
	Shares []Share
}

// Window is the time that the frame is about.
func (f *Frame) Window() (from, to time.Time) { return time.Unix(0, f.Begin), time.Unix(0, f.End) }

// A Kind says of which kind a result is.
type Kind uint8

// The kinds of results.
const (
	Table Kind = iota + 1
	Histogram
	Stacks
	Lines
)

// A Result is one of a window's results, or a part of it.
type Result struct {
	Kind                  Kind
	Name, Title           string
	Samples, TotalSamples uint64
	Loss                  event.Loss
	Costs                 Costs

	Form *Form // of tables and histograms
	Rows []Row
	// Lines are events, or pairs, as text shows them; Omitted counts the lines that found no room.
	Lines   []string
	Omitted uint64
	Host    string // whose lines they are, in frames of several machines
	Stacks  *result.Stacks
}

// A Form says what rows consist of.
type Form struct {
	Columns []result.Column // keys first
	Keys    int
	Aggs    []agg.Agg
	Args    int
}

// A Row is a row with the names of its keys, as the kernel prints them; "" is none. Called are names of
// values that cells have, such as the least one: each is told once, in one of the rows of a result.
type Row struct {
	agg.Row
	Names  []string
	Called []KernelName
}

// KernelName is the kernel's name of a value in the cells of an aggregator.
type KernelName struct {
	Agg   int // of the form
	Value event.Value
	Name  string
}
