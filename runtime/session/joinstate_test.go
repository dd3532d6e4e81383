package session

import (
	"slices"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/join"
)

// TestGapsAreBounded checks that times that touch are one, and of too many the oldest become one:
// no time in which events were missed is ever taken for one in which they were seen.
func TestGapsAreBounded(t *testing.T) {
	var m missedEvents
	m.gap(join.Gap{From: 10, To: 20})
	m.gap(join.Gap{From: 20, To: 25})
	m.gap(join.Gap{From: 24, To: 30})
	m.gap(join.Gap{From: 40, To: 50})
	if want := []join.Gap{{From: 10, To: 30}, {From: 40, To: 50}}; !slices.Equal(m.gaps, want) {
		t.Errorf("got %v, want %v", m.gaps, want)
	}
	last := event.Time(0)
	for i := range event.Time(3 * mostGaps) {
		last = 100 + 10*i
		m.gap(join.Gap{From: last, To: last + 5})
	}
	if len(m.gaps) != mostGaps || m.gaps[0].From != 10 || m.gaps[mostGaps-1].To != last+5 {
		t.Errorf("got %d gaps, %v to %v, want %d from the first to the last one", len(m.gaps), m.gaps[0],
			m.gaps[len(m.gaps)-1], mostGaps)
	}
	for i := range m.gaps[1:] {
		if m.gaps[i].To >= m.gaps[i+1].From {
			t.Fatalf("got %v in front of %v, want them apart", m.gaps[i], m.gaps[i+1])
		}
	}
	for i := range event.Time(3 * mostGaps) {
		at := 100 + 10*i
		if !slices.ContainsFunc(m.gaps, func(g join.Gap) bool { return g.From <= at && at+5 <= g.To }) {
			t.Fatalf("got no gap with %d to %d", at, at+5)
		}
	}
}
