package result

import (
	"time"

	"ppscript/runtime/event"
)

// Meta has the members that results of all shapes share.
type Meta struct {
	Name  string // the result's name in the script; unique within a run
	Title string // for people, may be empty

	Seq   int  // number of the interval, from 1; 0 if there are no intervals
	Final bool // the last result of this name in the run

	// Keep asks to keep rows, stacks and distributions that are not shown. Some outputs
	// need them; for others they would waste memory.
	Keep bool

	// Aside says that the script does not show the result: it is only sent to further
	// outputs such as profilers.
	Aside bool

	// Begin and End bound the interval on the source's clock; Wall is End as
	// wall-clock time, zero if unknown.
	Begin, End event.Time
	Wall       time.Time

	Samples      uint64 // events seen in this interval
	TotalSamples uint64 // events seen since the start

	// Cost is the cost of observing in this interval; nil for a recording.
	Cost *Cost

	// Loss counts the events that this interval lacks. Every renderer shows
	// it when it is not zero.
	Loss event.Loss
}

// A Cost is the cost of observing, in shares of the time of all CPUs, and the share of events
// that were observed within the budget.
type Cost struct {
	Budget float64 // the budget of the user; 0 if there is none
	// Own is the CPU time of ppscript itself. Traced is the time by which kernel programs delayed
	// the observed threads, or NotMeasured.
	Own, Traced float64
	// Events is the share of events that were counted, and Time the share of time in which
	// events were counted. Both are 1 if nothing was left out.
	Events, Time float64
	// ByKey says that whole keys were chosen or left out, each with all the events that an
	// operator relates by it.
	ByKey bool
	// Visible asks text renderers to show the cost.
	Visible bool
}

// NotMeasured is the value of a share that was not measured.
const NotMeasured = -1

// Sampled reports whether events were left out.
func (c *Cost) Sampled() bool { return c != nil && (c.Events < 1 || c.Time < 1) }

// Silent reports whether an empty result needs no message: no events were lost or left out.
func (m *Meta) Silent() bool { return m.Loss.Zero() && !m.Cost.Sampled() }

// Label returns the result's name for people: the title, else the name.
func (m *Meta) Label() string {
	if m.Title != "" {
		return m.Title
	}
	return m.Name
}
