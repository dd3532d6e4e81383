package session

import (
	"cmp"
	"errors"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventkind"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/stack/symbol"
	"ppscript/runtime/text/diag"
)

// A catalog finds the events that sources name: events of the running kernel,
// of recordings, and of other machines. It implements plan.Catalog.
type catalog struct {
	msgs *messages
	rec  *recordings
	here eventkind.Finder // here.Describes says that nothing is connected to either
}

func newCatalog(cfg *Config, msgs *messages, rec *recordings) *catalog {
	c := &catalog{msgs: msgs, rec: rec, here: eventkind.Finder{
		Symbols: symbol.NewKernel(""),
		Say:     func(line string) { msgs.say("%s", line) },
		Note:    msgs.noteOnce,
	}}
	if t := cfg.Target; len(t.PIDs) == 1 {
		c.here.PID = t.PIDs[0]
	}
	return c
}

// Find implements plan.Catalog.
func (c *catalog) Find(s *plan.Source) ([]*event.Schema, error) {
	schemas, err := c.find(s)
	if s.Kind != eventspec.Tracepoint || s.OrElse == "" {
		return schemas, err
	}
	lacking := cmp.Or(s.OrElseOf, s.FullName())
	for _, have := range schemas {
		if name := have.FullName(); name == lacking || name == s.OrElse {
			return schemas, err
		}
	}
	other := &plan.Source{Spec: eventspec.Spec{Kind: eventspec.Tracepoint}}
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
	if s.Probe != nil && s.Probe.File != "" { // a described plan is not run, so ask here, too
		if err := c.rec.cfg.permit(plan.Probing(s.Probe.File)); err != nil {
			return nil, err
		}
	}
	return c.here.Find(s)
}

// recorded finds a source's events in the recording.
func (c *catalog) recorded(s *plan.Source) ([]*event.Schema, error) {
	var found []*event.Schema
	var names []string
	for _, st := range c.rec.file.Streams() {
		names = append(names, st.Schema.FullName())
		if eventkind.Recorded(s, st.Schema) {
			found = append(found, c.here.Describe(st.Schema))
		}
	}
	for _, r := range c.rec.remotes {
		for _, st := range r.file.Streams() {
			if eventkind.Recorded(s, st.Schema) {
				found = append(found, c.here.Describe(st.Schema))
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
