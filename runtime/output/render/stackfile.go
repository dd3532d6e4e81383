package render

import (
	"io"
	"strings"
	"time"

	"ppscript/runtime/result"
)

// A StackFormat is a file format for stacks.
type StackFormat uint8

const (
	FoldedFormat StackFormat = iota
	SVGFormat
	HTMLFormat
	PprofFormat
)

type stackSuffix struct {
	suffix string
	format StackFormat
}

var stackSuffixes = []stackSuffix{
	{".folded", FoldedFormat},
	{".svg", SVGFormat},
	{".html", HTMLFormat},
	{".pb.gz", PprofFormat},
}

// StackExtensions lists the file extensions of formats for stacks.
func StackExtensions() []string {
	var list []string
	for _, s := range stackSuffixes {
		list = append(list, s.suffix)
	}
	return list
}

// StackFormatOf returns the format for a file's name; false if it has none of
// the extensions.
func StackFormatOf(path string) (StackFormat, bool) {
	for _, s := range stackSuffixes {
		if strings.HasSuffix(path, s.suffix) && path != s.suffix {
			return s.format, true
		}
	}
	return FoldedFormat, false
}

// StackFormatFor returns the format of an option that implies one; false if the file's
// name determines the format.
func StackFormatFor(option string) (f StackFormat, suffix string, ok bool) {
	if option == "pprof" {
		return PprofFormat, ".pb.gz", true
	}
	return FoldedFormat, "", false
}

// Advice returns a text that says how to use a file of the format.
func (f StackFormat) Advice(path string) string {
	switch f {
	case PprofFormat:
		return "look at it with: go tool pprof -http=: " + path + ", or: https://www.speedscope.app"
	case FoldedFormat:
		return "make a picture of it: flamegraph.pl " + path + " > " +
			strings.TrimSuffix(path, ".folded") + ".svg"
	}
	return "open it in a browser"
}

// WriteStacks writes the samples in a format. start, if not zero, is put before
// each line of folded stacks; about describes the recording in pictures.
func WriteStacks(w io.Writer, f StackFormat, s *result.Stacks, start time.Time, about string) error {
	switch f {
	case SVGFormat:
		return flameGraph(w, s, FlameOptions{Title: s.Title, About: about})
	case HTMLFormat:
		return FlameHTML(w, nil, s, FlameOptions{Title: s.Title, About: about})
	case PprofFormat:
		return pprof(w, s)
	}
	_, err := w.Write(AppendFolded(nil, s, start))
	return err
}
