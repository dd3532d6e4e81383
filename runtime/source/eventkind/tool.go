package eventkind

import (
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/text/diag"
)

// toolEvents are values that ppscript itself measures, with the names of perf. The session makes
// their counts; the kernel has no such events.
type toolEvents struct{ nothingMore }

func (toolEvents) names(s *plan.Source) bool { return s.Kind == eventspec.Tool }

func (toolEvents) find(_ *Finder, s *plan.Source) ([]*event.Schema, error) {
	if !slices.Contains(eventspec.ToolNames, s.Name) {
		return nil, diag.Errorf(diag.Attach, "open event", s.FullName(), "no such event%s",
			diag.DidYouMean(s.Name, eventspec.ToolNames)).
			WithHint("the tool events are %s", strings.Join(eventspec.ToolNames, " "))
	}
	return []*event.Schema{{System: "tool", Name: s.Name}}, nil
}

func (toolEvents) recorded(*plan.Source, *event.Schema) bool { return false }
