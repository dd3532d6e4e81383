package placement

import (
	"strings"
	"testing"
)

// A pattern of events does not fill the screen.
func TestPlacementOfMany(t *testing.T) {
	p := &Placement{}
	for range 40 {
		p.Parts = append(p.Parts, Part{Name: "event"})
	}
	p.Parts = append(p.Parts, Part{Name: "table", operator: true})
	var b strings.Builder
	p.Explain(&b)
	if got := b.String(); strings.Count(got, "event\n") != 15 ||
		!strings.HasSuffix(got, " and 25 more\n                kernel      table\n") {
		t.Errorf("got\n%s\nwant some events, how many more, and the table", got)
	}
}
