package render

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"ppscript/runtime/diag"
	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// A Renderer writes results. Output is buffered: call Flush when there is
// nothing more to write for the moment. After the first error every call
// returns it; errors.Is(err, syscall.EPIPE) tells that the reader went away.
//
// A Renderer is used by one goroutine. It does not keep its arguments.
type Renderer interface {
	Table(t *result.Table) error
	Histogram(h *result.Histogram) error
	Stacks(s *result.Stacks) error
	Event(l *Line) error
	// Detail writes a pair with the events around it.
	Detail(d *result.Detail) error
	// Why writes where the time of slow spans went.
	Why(w *result.Why) error
	// Note writes a fact about the run that is not a result: losses between
	// results, attached events. JSON has it as a record of type kind; text
	// CSV and Markdown write it to Options.Notes.
	Note(kind string, fields ...NoteField) error
	// Print writes text of the script's own: of exec attributes.
	Print(text []byte) error
	Flush() error
}

// A Line is an event to be written. It is a view like the event itself.
type Line struct {
	Event  *event.Event
	Marker byte   // 'G' for an event received from elsewhere; 0 for a local one
	Prefix string // stands in the place of the date, in text; "" for the date
	Result string // the name of the log in the script; "" is "log"
	// Block is lines of text that belong to the event: registers. JSON has
	// them as a field.
	Block []byte
	// Stacks says that events of this log have stacks. Frames is that of the
	// event, innermost first; Cut says that outer frames are missing.
	Stacks bool
	Frames []*result.Frame
	Cut    bool
	// More are the other stacks of an event that was made from several.
	More []NamedStack
	// Heading, if it is not empty, stands in text behind the date in place of
	// the event's line, and Parts are the events below it, with their stacks in
	// place of the event's own. JSON and CSV have the event's fields.
	Heading string
	// Text, if it is not empty, stands in text in place of the event's
	// fields; its further lines are below the line of the event.
	Text  string
	Parts []Line
}

// A NamedStack is a stack in a field of an event.
type NamedStack struct {
	Name   string
	Frames []*result.Frame
	Cut    bool
}

// A NoteField is one named value of a note.
type NoteField struct {
	Name  string
	Value event.Value
}

// Options says how to write. The zero Options is text with wall-clock times,
// in colour if the writer is a terminal.
type Options struct {
	Format string // text, json, csv, markdown
	Color  string // auto, always, never
	Time   string // wall, rel, mono, delta
	Width  int    // terminal cells for bars; 0 is 80. Tables may be wider.
	// Terminal is the width that a terminal has now, and 0 if results go
	// elsewhere, as they do if it is nil.
	Terminal func() int

	// Clock converts to wall-clock time; nil if nobody knows. Stamps are
	// then on the source's clock.
	Clock func(event.Time) time.Time
	// Start is the zero of rel.
	Start event.Time
	// Location of wall-clock times in text and CSV; nil is the local one.
	Location *time.Location
	// Notes receives notes of text, CSV and Markdown, and the losses of CSV; nil puts
	// them between the results, in CSV as lines starting with '#'.
	Notes io.Writer
	// Page has JSON for the page of a run: each function of a result of stacks is named once, in
	// the member frames, and stacks are numbers in that list; heat maps are records, too.
	Page bool
}

// bufferBytes is how much output is held before it is written unasked.
const bufferBytes = 64 << 10

// keptBytes is how large a buffer may be to be used again.
const keptBytes = 1 << 20

var (
	colors = []string{"auto", "always", "never"}
	times  = []string{"wall", "rel", "mono", "delta"}
)

// New makes the Renderer that o describes. It writes nothing yet.
func New(w io.Writer, o Options) (Renderer, error) {
	for _, c := range []struct {
		name    string
		value   *string
		choices []string
	}{{"--format", &o.Format, Formats()}, {"--color", &o.Color, colors}, {"--time", &o.Time, times}} {
		if err := choose(c.name, c.value, c.choices); err != nil {
			return nil, err
		}
	}
	if o.Width <= 0 {
		o.Width = 80
	}
	out := &sink{w: w, notes: o.Notes}
	line := lineOptions{Time: o.Time, Clock: o.Clock, Start: o.Start, Location: o.Location}
	i := slices.IndexFunc(formatList, func(f format) bool { return f.name == o.Format })
	return formatList[i].make(out, line, &o), nil
}

// choose checks an option against its choices; the first is the default.
func choose(name string, value *string, choices []string) error {
	if *value == "" {
		*value = choices[0]
	}
	for _, c := range choices {
		if *value == c {
			return nil
		}
	}
	return (&diag.Error{Op: "option", Subject: name, Class: diag.Usage,
		Cause: errors.New("got " + *value + ", want one of " + strings.Join(choices, ", ") +
			diag.DidYouMean(*value, choices))}).
		WithHint("write %s %s", name, choices[0])
}

// colored decides about colour: as told, else only on a terminal whose user
// has not set NO_COLOR.
func colored(w io.Writer, mode string) bool {
	switch mode {
	case "always":
		return true
	case "never":
		return false
	}
	f, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(f)
}
