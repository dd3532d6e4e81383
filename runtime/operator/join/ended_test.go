package join

import (
	"fmt"
	"testing"

	"ppscript/runtime/event"
)

// ends is a join, or one of calls, that is told of threads.
type ends interface {
	Ended(tid int32, at event.Time)
	Began(tid int32)
	Stats() Stats
}

// The waiting event of a thread that ends in a call goes a moment later, with
// no loss counted; the thread's events within that moment count.
func TestThreadsThatEnded(t *testing.T) {
	f := func(what string, j *testJoin, feed func(text string), to ends) {
		t.Helper()
		waits := func(when string, want int) {
			t.Helper()
			if got := to.Stats().Waiting; got != want {
				t.Errorf("%s: %s: got %d that wait, want %d", what, when, got, want)
			}
		}
		feed("10 A 1; 11 A 2; 12 A 3; 13 A 4")
		to.Ended(1, 20)
		to.Ended(2, 21)
		to.Ended(3, 22)
		feed("30 A 5")
		waits("they ended just now", 5)
		feed("40 a 2") // in its last moments
		waits("one is done", 4)
		to.Began(3) // the number is used again
		waits("one began", 3)
		feed("50 A 3")
		feed(fmt.Sprint(int64(linger)+100, " A 6"))
		waits("a second later", 4) // 3, 4, 5, 6
		feed(fmt.Sprint(int64(linger)+200, " a 3; ", int64(linger)+201, " a 4"))
		if s := to.Stats(); s.Pairs != 3 || s.Orphaned != 2 ||
			s.Cancelled+s.EndsAlone+s.Replaced+s.Evicted != 0 || s.Waiting != 2 {
			t.Errorf("%s: got %+v, want 3 pairs, 2 gone and 2 that wait", what, s)
		}
	}
	j := newJoin(t, "A a")
	j.spec.ByThread = true
	j.join = New(j.spec, sinkFunc(j.note))
	f("join", j, func(text string) { j.feed(j.join, text) }, j.join)
	n := newNested(t, "A")
	n.spec.ByThread = true
	n.nested = NewNested(n.spec, NewTree([]string{"A"}), sinkFunc(func([]*event.Event) {}))
	f("nested", n, func(text string) { n.feed(n.nested, text) }, n.nested)
}

// However many threads come and go, a join holds no more than the threads that live.
func TestThreadsComeAndGo(t *testing.T) {
	n := newNested(t, "A B")
	n.spec.ByThread = true
	n.nested = NewNested(n.spec, NewTree([]string{"A", "B"}), sinkFunc(func([]*event.Event) {}))
	most := 0
	const each = int64(linger) / 100
	for i := range int64(5000) {
		n.feed(n.nested, fmt.Sprintf("%d A %d; %d B %d", i*each, i, i*each+1, i))
		n.nested.Ended(int32(i), event.Time(i*each+2))
		most = max(most, n.nested.Stats().Waiting)
	}
	if s := n.nested.Stats(); most > 2*102 || s.Orphaned < 2*4800 || len(n.nested.endings.queue) > 102 ||
		len(n.nested.endings.at) > 102 {
		t.Errorf("got up to %d that wait, %+v; want those of the last second", most, s)
	}
}
