package eventkind

import (
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/tracefs"
	"ppscript/runtime/text/glob"
)

// tracepointEvents are tracepoints, whose formats are in tracefs.
type tracepointEvents struct{ nothingMore }

func (tracepointEvents) names(s *plan.Source) bool { return s.Kind == eventspec.Tracepoint }

func (tracepointEvents) find(c *Finder, s *plan.Source) ([]*event.Schema, error) {
	if err := c.tracefs(); err != nil {
		return nil, err
	}
	if !isPattern(s) {
		schema, err := c.fs.Schema(s.System, s.Name)
		if err != nil {
			return nil, err
		}
		return []*event.Schema{schema}, nil
	}

	names, err := c.fs.Match(s.System + ":" + s.Name)
	if err != nil {
		return nil, err
	}
	schemas := make([]*event.Schema, 0, len(names))
	for _, n := range names {
		sys, name, _ := strings.Cut(n, ":")
		schema, err := c.fs.Schema(sys, name)
		if err != nil {
			return nil, err
		}
		schemas = append(schemas, schema)
	}
	return schemas, nil
}

func (tracepointEvents) recorded(s *plan.Source, schema *event.Schema) bool {
	return glob.Match(s.System, schema.System) && glob.Match(s.Name, schema.Name)
}

// isPattern reports that a source is a pattern of tracepoints.
func isPattern(s *plan.Source) bool {
	return s.Kind == eventspec.Tracepoint && strings.ContainsAny(s.System+s.Name, "*?[")
}

// patternOf returns the pattern of a source, "" if it names one event.
func patternOf(s *plan.Source) string {
	if !isPattern(s) {
		return ""
	}
	return s.FullName()
}

// tracefs finds tracefs, or the shipped formats if c.Describes.
func (c *Finder) tracefs() error {
	if c.fs != nil {
		return nil
	}
	if c.Describes {
		c.fs = tracefs.FindFormats()
		if instead := c.fs.Instead(); instead != "" {
			c.Note(instead)
		}
		c.fs.Options.Ksym = c.Symbols.Ksym
		return nil
	}
	fs, err := tracefs.Find()
	if err != nil {
		return err
	}
	fs.Options.Ksym = c.Symbols.Ksym
	c.fs = fs
	return nil
}
