package placement

import (
	"strings"
	"testing"

	"ppscript/runtime/plan/graph"
)

// A pattern of events does not fill the screen.
func TestPlacementOfMany(t *testing.T) {
	g := &graph.Graph{}
	for range 40 {
		g.AddEvent(&graph.Event{Label: "event"})
	}
	g.Nodes = append(g.Nodes, &graph.Node{Name: "table", Op: &graph.Operator{}})
	p := &Placement{Graph: g}
	var b strings.Builder
	p.Explain(&b)
	if got := b.String(); strings.Count(got, "event\n") != 15 ||
		!strings.HasSuffix(got, " and 25 more\n                kernel      table\n") {
		t.Errorf("got\n%s\nwant some events, how many more, and the table", got)
	}
}
