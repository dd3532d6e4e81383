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
// returns it; errors.Is(err, syscall.EPIPE) tells that the reader went away.
//
// A Renderer is used by one goroutine. It does not keep its arguments.
type Renderer interface {
	// Show writes a result. What it has no form for it shows as Walk does, or leaves out.
	Show(r result.Result) error
	// Note writes a fact about the run that is not a result: losses between
	// results, attached events. JSON has it as a record of type kind; text
	// CSV and Markdown write it to Options.Notes.
	Note(kind string, fields ...NoteField) error
	Flush() error
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
