package render

import (
	"io"
	"strings"
	"time"

	"ppscript/runtime/result"
)

// A StackFormat is a form of files of stacks.
type StackFormat uint8

const (
	FoldedFormat StackFormat = iota
	SVGFormat
	HTMLFormat
	PprofFormat
)

var stackSuffixes = []struct {
	suffix string
	format StackFormat
}{{".folded", FoldedFormat}, {".svg", SVGFormat}, {".html", HTMLFormat}, {".pb.gz", PprofFormat}}

// StackExtensions lists the ends of names that say a form of stacks.
func StackExtensions() []string {
	var list []string
	for _, s := range stackSuffixes {
		list = append(list, s.suffix)
	}
	return list
}

// StackFormatOf is the form that a file's name asks for; false if it has none
// of the suffixes.
func StackFormatOf(path string) (StackFormat, bool) {
	for _, s := range stackSuffixes {
		if strings.HasSuffix(path, s.suffix) && path != s.suffix {
			return s.format, true
		}
	}
	return FoldedFormat, false
}

// WriteStacks writes the samples in a form. Start, if not zero, stamps the
// lines of folded stacks; about describes the recording in pictures.
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
