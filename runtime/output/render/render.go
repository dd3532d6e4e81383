package render

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/diag"
)

// A Renderer writes results. Output is buffered: call Flush when there is
// nothing more to write for the moment. After the first error every call
// returns that error; errors.Is(err, syscall.EPIPE) means that the reader has
// closed the pipe.
//
// A Renderer is used by one goroutine. It does not keep its arguments.
type Renderer interface {
	// Show writes a result. A shape that the format does not support is converted by
	// Walk, or left out.
	Show(r result.Result) error
	// Note writes a fact about the run that is not a result: losses between
	// results, attached events. JSON has it as a record of type kind; text, CSV
	// and Markdown write it to Options.Notes.
	Note(kind string, fields ...NoteField) error
	Flush() error
}

// A NoteField is a named value of a note.
type NoteField struct {
	Name  string
	Value event.Value
}

// Options are the options of a Renderer. The zero Options is text with
// wall-clock times, in colour if the writer is a terminal.
type Options struct {
	Format string // text, json, csv, markdown
	Color  string // auto, always, never
	Time   string // wall, rel, mono, delta
	Width  int    // terminal cells for bars; 0 is 80. Tables may be wider.
	// Terminal returns the current width of the terminal, or 0 if the output is
	// no terminal. nil means no terminal.
	Terminal func() int

	// Clock converts to wall-clock time; nil if it is unknown. Times are then
	// on the source's clock.
	Clock func(event.Time) time.Time
	// Start is the time that rel subtracts.
	Start event.Time
	// Location is the time zone of wall-clock times in text; nil is the local
	// one.
	Location *time.Location
	// Notes is where text, CSV and Markdown write notes, and CSV writes losses; nil
	// writes them between the results, in CSV as lines starting with '#'.
	Notes io.Writer
	// Page selects the JSON for the page of a run (package live): a result of stacks has a list
	// of its functions in the member frames, and stacks are numbers in that list. Heat maps are
	// also written.
	Page bool
}

// bufferBytes is the size from which the buffer is written without Flush.
const bufferBytes = 64 << 10

// keptBytes is the largest capacity of a buffer that is reused.
const keptBytes = 1 << 20

var (
	colors = []string{"auto", "always", "never"}
	times  = []string{"wall", "rel", "mono", "delta"}
)

// New makes a Renderer, without writing.
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

// choose checks an option's value; the first choice is the default.
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

// colored reports whether to use colours: as mode says, or by default only on a
// terminal if NO_COLOR is not set.
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
