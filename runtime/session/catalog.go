package session

import (
	"cmp"
	"errors"
	"ppscript/runtime/diag"
	"ppscript/runtime/event"
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
	switch {
	case s.Pulled():
		return c.pulled(s)
	case c.rec.file != nil:
		return c.recorded(s)
	}
	return kindOf(s).find(c, s)
}

// recorded finds a source's events among those of the recording.
func (c *catalog) recorded(s *plan.Source) ([]*event.Schema, error) {
	var found []*event.Schema
	var names []string
	for _, st := range c.rec.file.Streams() {
		names = append(names, st.Schema.FullName())
		if kindOf(s).recorded(s, st.Schema) {
			found = append(found, c.describe(st.Schema))
		}
	}
	for _, r := range c.rec.remotes {
		for _, st := range r.file.Streams() {
			if kindOf(s).recorded(s, st.Schema) {
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
