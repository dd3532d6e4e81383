package order

import (
	"math/rand"
	"testing"
	"time"

	"ppscript/runtime/event"
)

// This file has rings of limited size whose kernel goes on writing while the
// merge runs, however slow the reader is.

// A machine is the kernel's side of some rings with one clock.
type machine struct {
	now   event.Time
	rings []*kernelRing
	rnd   *rand.Rand
	// bias is how many of ten records the first ring gets.
	bias int
	lost uint64
}

// A kernelRing has room for size records.
type kernelRing struct {
	fakeRing
	size, lost    int
	tail, suspect uint64
	tight         bool
	first         uint64
}

func (r *kernelRing) head() uint64 { return uint64(len(r.times)) }
func (r *kernelRing) full(n int) bool {
	return int(r.head()-r.tail)+n > r.size
}

func (r *kernelRing) suspectLoss() {
	if r.full(2) {
		r.suspect = r.head()
		r.tight = r.tight || r.suspect == r.visible
	}
}

func (r *kernelRing) Tight() bool { return r.tight }
func (r *kernelRing) Release() {
	r.suspectLoss()
	r.tail = r.pos
}

// run lets time pass: so many records are written, or lost.
func (m *machine) run(records int) {
	for range records {
		m.now += event.Time(1 + m.rnd.Intn(1000))
		r := m.rings[m.rnd.Intn(len(m.rings))]
		if m.rnd.Intn(10) < m.bias {
			r = m.rings[0]
		}
		need := 1
		if r.lost > 0 {
			need = 2
		}
		if r.full(need) {
			r.lost++
			m.lost++
			continue
		}
		if r.lost > 0 {
			r.kinds[len(r.times)] = event.Lost
			r.times = append(r.times, m.now)
			r.lost = 0
		}
		r.times = append(r.times, m.now)
	}
}

// look is Poll: records that the first look saw are known, records that the second saw are visible.
func (m *machine) look() {
	for _, r := range m.rings {
		r.first = r.head()
		m.run(m.rnd.Intn(3)) // the reader loses its CPU
	}
	m.run(m.rnd.Intn(20))
	for _, r := range m.rings {
		visible := r.head()
		r.tight = visible == r.suspect && visible != 0 || r.tight && visible == r.visible
		r.known, r.visible = r.first, visible
		r.suspectLoss()
		m.run(m.rnd.Intn(3))
	}
}

// TestSlowReaderMakesNothingLate checks that nothing is late but losses, which begin before the
// record that tells of them: not with slow readers, full rings, or rings that hold others up.
func TestSlowReaderMakesNothingLate(t *testing.T) {
	for seed := int64(1); seed <= 200; seed++ {
		rnd := rand.New(rand.NewSource(seed))
		m := &machine{rnd: rnd, bias: rnd.Intn(10)}
		src := &fakeSource{}
		for range 1 + rnd.Intn(4) {
			r := &kernelRing{fakeRing: fakeRing{kinds: map[int]event.RecordKind{}}, size: 8 << rnd.Intn(8)}
			m.rings = append(m.rings, r)
			src.rings = append(src.rings, r)
		}
		slow := 1 << rnd.Intn(12) // records that come while a batch is handled
		merge := NewMerge(src)
		merge.holds.now = func() time.Time { return time.Unix(0, int64(m.now)*1000) }
		var last event.Time
		seen, late := uint64(0), 0
		sink := func(events []*event.Event) {
			for _, e := range events {
				if e.Kind != event.Sample {
					continue
				}
				seen++
				if e.Time < last {
					late++
				}
				last = max(last, e.Time)
			}
			m.run(rnd.Intn(slow))
		}
		for range 60 {
			m.run(rnd.Intn(400))
			m.look()
			merge.Round(sink, false)
		}
		m.look()
		merge.Round(sink, true)
		written := uint64(0)
		for _, r := range m.rings {
			written += r.visible
			for i := range r.kinds {
				if uint64(i) < r.visible {
					written--
				}
			}
		}
		if late > 0 || merge.Stats().Late > 0 || seen != written {
			t.Errorf("seed %d: got %d samples, %d of them late, want %d and none (%d lost, %+v)", seed, seen,
				late, written, m.lost, merge.Stats())
		}
	}
}
