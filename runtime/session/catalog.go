package session

import (
	"cmp"
	"errors"
	"ppscript/runtime/diag"
	"ppscript/runtime/event"
	"ppscript/runtime/glob"
	"ppscript/runtime/kernel"
	"ppscript/runtime/plan"
	"ppscript/runtime/symbol"
	"ppscript/runtime/tracefs"
	"strings"
)

// A catalog finds the events that sources name: those of the running kernel, of
// recordings, and of other machines. It implements plan.Catalog.
type catalog struct {
	cfg     *Config
	msgs    *messages
	rec     *recordings
	fs      *tracefs.FS // found at the first tracepoint
	symbols *symbol.Kernel
	// place appends the symbol of an address of an event; nil: of the kernel only.
	place  func(dst []byte, e *event.Event, ip uint64) []byte
	probes probes
	// accesses are the events of memory accesses that were found.
	accesses map[*event.Schema]kernel.MemoryEvent
	// dry says that nothing is connected to: a plan is only described.
	dry bool
}

// Find implements plan.Catalog.
func (c *catalog) Find(s *plan.Source) ([]*event.Schema, error) {
	schemas, err := c.find(s)
	if s.Kind != plan.Tracepoint || s.OrElse == "" {
		return schemas, err
	}
	lacking := cmp.Or(s.OrElseOf, s.FullName())
	for _, have := range schemas {
		if name := have.FullName(); name == lacking || name == s.OrElse {
			return schemas, err
		}
	}
	other := &plan.Source{Kind: plan.Tracepoint}
	other.System, other.Name, _ = strings.Cut(s.OrElse, ":")
	instead, otherErr := c.find(other)
	if otherErr != nil {
		return schemas, err
	}
	c.msgs.sayOnce(lacking + " is not there: " + s.OrElse + " is taken instead")
	return append(schemas, instead...), nil
}

func (c *catalog) find(s *plan.Source) ([]*event.Schema, error) {
	if s.Pulled() {
		return c.pulled(s)
	}
	if c.rec.file != nil {
		return c.recorded(s)
	}
	if s.Probe != nil {
		return c.findProbes(s)
	}
	if s.Memory != nil {
		return c.memoryEvents(s)
	}
	if s.Kind != plan.Tracepoint {
		schema, err := c.named(s)
		if err != nil {
			return nil, err
		}
		return []*event.Schema{schema}, nil
	}
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

// isPattern reports that a source stands for all tracepoints that it fits.
func isPattern(s *plan.Source) bool {
	return s.Kind == plan.Tracepoint && strings.ContainsAny(s.System+s.Name, "*?[")
}

// patternOf is the pattern by which a source's events are found, "" if it names
// one.
func patternOf(s *plan.Source) string {
	if !isPattern(s) {
		return ""
	}
	return s.FullName()
}

func (c *catalog) tracefs() error {
	if c.fs != nil {
		return nil
	}
	fs, err := tracefs.Find()
	if err != nil {
		return err
	}
	fs.Options.Ksym = c.symbols.Ksym
	c.fs = fs
	return nil
}

// recorded finds a source's events among those of the recording.
func (c *catalog) recorded(s *plan.Source) ([]*event.Schema, error) {
	var found []*event.Schema
	var names []string
	for _, st := range c.rec.file.Streams() {
		names = append(names, st.Schema.FullName())
		if matches(s, st.Schema) {
			found = append(found, c.describe(st.Schema))
		}
	}
	for _, r := range c.rec.remotes {
		for _, st := range r.file.Streams() {
			if matches(s, st.Schema) {
				found = append(found, c.describe(st.Schema))
			}
		}
	}
	if len(found) == 0 && s.Optional {
		return nil, &diag.Error{
			Op:      "event",
			Subject: s.FullName(),
			Class:   diag.Attach,
			Cause:   errors.New("not in the recording"),
		}
	}
	if len(found) == 0 {
		e := &diag.Error{Op: "event", Subject: s.FullName(), Class: diag.Attach,
			Cause: errors.New("not in the recording" + diag.DidYouMean(s.FullName(), names))}
		if ws := c.rec.file.Warnings(); len(ws) > 0 {
			return nil, e.WithHint("the recording is damaged (%s); recorded were: %s", ws[0],
				strings.Join(names, ", "))
		}
		return nil, e.WithHint("recorded were: %s", strings.Join(names, ", "))
	}
	return found, nil
}

// matches reports that a recorded event is what a source names.
func matches(s *plan.Source, schema *event.Schema) bool {
	if s.Kind == plan.Tracepoint {
		return glob.Match(s.System, schema.System) && glob.Match(s.Name, schema.Name)
	}
	if s.Probe != nil {
		return glob.Match(s.Probe.Kind.String(), schema.System) && glob.Match(s.Name, schema.Name)
	}
	return recordedAs(s, schema)
}
