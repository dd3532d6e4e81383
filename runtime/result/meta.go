package result

import (
	"time"

	"ppscript/runtime/event"
)

// Meta is the part that results of all shapes have.
type Meta struct {
	Name  string // of the result in the script; unique within a run
	Title string // for people, may be empty

	Seq   int  // number of the interval, from 1; 0 if there are no intervals
	Final bool // the last result of this name in the run

	// Keep asks for all that was found out, also what is not shown: some outputs have a
	// use for it, for others it is a waste of memory.
	Keep bool

	// Aside says that nobody asked to see the result: it is for outputs beside -o alone.
	Aside bool

	// Begin and End bound the interval on the source's clock; Wall is End as
	// wall-clock time, zero if that is not known.
	Begin, End event.Time
	Wall       time.Time

	Samples      uint64 // events seen in this interval
	TotalSamples uint64 // events seen since the start

	// Cost is what observing cost in this interval; nil for a recording.
	Cost *Cost

	// Loss counts the events that this interval lacks. Every renderer shows
	// it when it is not zero.
	Loss event.Loss
}

// A Cost is what observing costs, in shares of the time of all CPUs, and what was left out for
// it.
type Cost struct {
	Budget float64 // that was given; 0 if none was
	// Own is what ppscript itself used, Traced what the programs of the kernel made those wait who
	// are observed, or NotMeasured.
	Own, Traced float64
	// Events is how many of the events counted, Time in which part of the time any did: 1 if
	// nothing was left out.
	Events, Time float64
	// ByKey says that keys were counted, with all the events that an operator relates by them.
	ByKey bool
	// Visible asks renderers for people to show it.
	Visible bool
}

// NotMeasured is a share that nobody measured.
const NotMeasured = -1

// Sampled reports that events were left out.
func (c *Cost) Sampled() bool { return c != nil && (c.Events < 1 || c.Time < 1) }

// Silent reports that a result which has nothing needs no word: all events were seen, and none was left out.
func (m *Meta) Silent() bool { return m.Loss.Zero() && !m.Cost.Sampled() }

// Label is the result's name for a person: the title, else the name.
func (m *Meta) Label() string {
	if m.Title != "" {
		return m.Title
	}
	return m.Name
}
