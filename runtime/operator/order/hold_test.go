package order

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/event"
)

// tightRing is a fakeRing that can be full.
type tightRing struct {
	fakeRing
	tight bool
}

func (r *tightRing) Tight() bool { return r.tight }

// show makes records up to n visible and known.
func (r *fakeRing) show(n int) { r.known, r.visible = uint64(n), uint64(n) }

// trace lists the events that a merge handed out: "ring:time", losses as "ring:from-end".
type trace struct{ lines []string }

func (t *trace) sink(evs []*event.Event) {
	for _, e := range evs {
		switch {
		case e.Kind != event.Lost:
			t.lines = append(t.lines, fmt.Sprintf("%d:%d", e.Ring, e.Time))
		case e.LossEnd() == math.MaxInt64:
			t.lines = append(t.lines, fmt.Sprintf("%d:%d-?", e.Ring, e.Time))
		default:
			t.lines = append(t.lines, fmt.Sprintf("%d:%d-%d", e.Ring, e.Time, e.LossEnd()))
		}
	}
}

func (t *trace) want(tt *testing.T, want string) {
	tt.Helper()
	if got := strings.Join(t.lines, " "); got != want {
		tt.Errorf("got %q, want %q", got, want)
	}
	t.lines = nil
}

func TestLossHasAnEnd(t *testing.T) {
	a := &fakeRing{times: []event.Time{10, 55, 50, 60}, kinds: map[int]event.RecordKind{1: event.Lost}}
	b := &fakeRing{times: []event.Time{30, 70}}
	a.show(4)
	b.show(2)
	var got trace
	NewMerge(&fakeSource{rings: []event.Ring{a, b}}).Round(got.sink, true)
	got.want(t, "0:10 0:10-50 1:30 0:50 0:60 1:70")
	a.pos, b.pos = 0, 0
	NewDrain(&fakeSource{rings: []event.Ring{a, b}}).Round(got.sink, true)
	got.want(t, "0:10 0:10-50 0:50 0:60 1:30 1:70")
}

func TestLossAtTheEndOfARingLastsUntilItsOwnTime(t *testing.T) {
	a := &fakeRing{times: []event.Time{10, 55}, kinds: map[int]event.RecordKind{1: event.Lost}}
	a.show(2)
	var got trace
	NewMerge(&fakeSource{rings: []event.Ring{a}}).Round(got.sink, true)
	got.want(t, "0:10 0:10-55")
}

func TestFullRingHoldsTheOthersUp(t *testing.T) {
	a := &tightRing{fakeRing: fakeRing{
		times: []event.Time{10, 20, 45, 50}, kinds: map[int]event.RecordKind{2: event.Lost},
	}}
	b := &fakeRing{times: []event.Time{5, 15, 25, 35, 60}}
	m := NewMerge(&fakeSource{rings: []event.Ring{a, b}})
	var got trace
	a.show(2)
	b.show(4)
	a.tight = true
	m.Round(got.sink, false)
	got.want(t, "1:5 0:10 1:15 0:20")
	// The loss becomes visible with the next record that has room.
	a.show(4)
	b.show(5)
	a.tight = false
	m.Round(got.sink, false)
	got.want(t, "0:20-45 1:25 1:35 0:50 1:60")
	if s := m.Stats(); s.Held != 1 || s.Suspected != 0 || s.Late != 0 {
		t.Errorf("got %+v, want held once", s)
	}
}

func TestFullRingWithoutLossLetsGo(t *testing.T) {
	a := &tightRing{fakeRing: fakeRing{times: []event.Time{10, 40}}}
	b := &fakeRing{times: []event.Time{20, 30}}
	m := NewMerge(&fakeSource{rings: []event.Ring{a, b}})
	var got trace
	a.show(1)
	b.show(2)
	a.tight = true
	m.Round(got.sink, false)
	got.want(t, "0:10")
	a.show(2)
	a.tight = false
	m.Round(got.sink, false)
	got.want(t, "1:20 1:30 0:40")
}

func TestHoldIsBounded(t *testing.T) {
	a := &tightRing{fakeRing: fakeRing{times: []event.Time{10}}, tight: true}
	b := &fakeRing{times: []event.Time{20, 30, 40}}
	m := NewMerge(&fakeSource{rings: []event.Ring{a, b}})
	now := time.Unix(0, 0)
	m.holds.now = func() time.Time { return now }
	var got trace
	a.show(1)
	b.show(2)
	m.Round(got.sink, false)
	now = now.Add(holdTime / 2)
	m.Round(got.sink, false)
	got.want(t, "0:10")
	now = now.Add(holdTime)
	a.tight = false
	m.Round(got.sink, false)
	got.want(t, "0:10-? 1:20 1:30")
	b.show(3)
	m.Round(got.sink, false)
	got.want(t, "0:30-30 1:40")
	if s := m.Stats(); s.Suspected != 1 {
		t.Errorf("got %+v, want one suspected loss", s)
	}
}

func TestHoldEndsWhenAnotherRingFillsUp(t *testing.T) {
	a := &tightRing{fakeRing: fakeRing{times: []event.Time{10}}, tight: true}
	b := &tightRing{fakeRing: fakeRing{times: []event.Time{20, 30}}}
	m := NewMerge(&fakeSource{rings: []event.Ring{a, b}})
	var got trace
	a.show(1)
	b.show(2)
	m.Round(got.sink, false)
	got.want(t, "0:10")
	b.tight = true
	m.Round(got.sink, false)
	got.want(t, "0:10-? 1:20 1:30")
}

func TestFinalRoundHoldsNothing(t *testing.T) {
	a := &tightRing{fakeRing: fakeRing{times: []event.Time{10}}, tight: true}
	b := &fakeRing{times: []event.Time{20}}
	m := NewMerge(&fakeSource{rings: []event.Ring{a, b}})
	var got trace
	a.show(1)
	b.show(1)
	m.Round(got.sink, false)
	m.Round(got.sink, true)
	got.want(t, "0:10 1:20")
}

func TestRingThatAppearsLater(t *testing.T) {
	a := &fakeRing{times: []event.Time{10, 30}}
	src := &fakeSource{rings: []event.Ring{a}}
	m := NewMerge(src)
	var got trace
	a.show(1)
	m.Round(got.sink, false)
	b := &fakeRing{times: []event.Time{20, 40}}
	src.rings = append(src.rings, b)
	a.show(2)
	b.show(2)
	m.Round(got.sink, false)
	got.want(t, "0:10 1:20 0:30 1:40")
}

func TestRunOfOneRingAndEqualTimes(t *testing.T) {
	a := &fakeRing{times: []event.Time{1, 2, 3, 3, 3, 9}}
	b := &fakeRing{times: []event.Time{3, 4, 9, 9}}
	c := &fakeRing{times: []event.Time{3, 9}}
	for _, r := range []*fakeRing{a, b, c} {
		r.show(len(r.times))
	}
	var got trace
	NewMerge(&fakeSource{rings: []event.Ring{a, b, c}}).Round(got.sink, false)
	got.want(t, "0:1 0:2 0:3 0:3 0:3 1:3 2:3 1:4 0:9 1:9 1:9 2:9")
}
