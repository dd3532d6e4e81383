package join

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/order"
)

// This file runs joins behind simulated rings: small ones, which the "kernel"
// fills while they are read, and which lose events that do not fit. With any
// losses, every reported pair must be a true one.

// A simRing is a ring of so many records.
type simRing struct {
	sim            *sim
	index          int
	recs           []event.Event
	size           int
	tail, pos      int
	known, visible int
	lost           uint32
	suspect        int
	tight          bool
}

func (r *simRing) free() int { return r.size - (len(r.recs) - r.tail) }

// write is the kernel's side.
func (r *simRing) write(e event.Event) {
	need := 1
	if r.lost > 0 {
		need = 2
	}
	if r.free() < need {
		r.lost++
		r.sim.lost++
		return
	}
	if r.lost > 0 {
		r.recs = append(r.recs, event.Event{Kind: event.Lost, Count: r.lost, Time: e.Time})
		r.lost = 0
	}
	r.recs = append(r.recs, e)
}

func (r *simRing) suspectLoss() {
	if r.free() < 2 {
		r.suspect = len(r.recs)
		r.tight = r.tight || r.suspect == r.visible
	}
}

func (r *simRing) look() {
	v := len(r.recs)
	r.tight = v == r.suspect && v != 0 || r.tight && v == r.visible
	r.visible = v
	r.suspectLoss()
}

func (r *simRing) Tight() bool                     { return r.tight }
func (r *simRing) Bounds() (known, visible uint64) { return uint64(r.known), uint64(r.visible) }
func (r *simRing) Pos() uint64                     { return uint64(r.pos) }
func (r *simRing) Release()                        { r.suspectLoss(); r.tail = r.pos }
func (r *simRing) Read(dst []event.Event, until uint64) int {
	n := 0
	for n < len(dst) && n < 7 && r.pos < int(until) {
		dst[n] = r.recs[r.pos]
		n++
		r.pos++
	}
	r.sim.happen(r.sim.rnd.Intn(4)) // the world goes on
	if r.pos < int(until) && n < len(dst) {
		return n + r.Read(dst[n:], until)
	}
	return n
}

// A sim is the world: events in the order of time, each for a ring.
type sim struct {
	rnd   *rand.Rand
	rings []*simRing
	todo  []event.Event
	where []int
	lost  int
}

func (s *sim) happen(n int) {
	for ; n > 0 && len(s.todo) > 0; n-- {
		s.rings[s.where[0]].write(s.todo[0])
		s.todo, s.where = s.todo[1:], s.where[1:]
	}
}

func (s *sim) Streams() []*event.Stream { return nil }
func (s *sim) Close() error             { return nil }
func (s *sim) Rings() []event.Ring {
	var rs []event.Ring
	for _, r := range s.rings {
		rs = append(rs, r)
	}
	return rs
}

func (s *sim) Poll(context.Context, time.Duration) error {
	s.happen(s.rnd.Intn(60))
	for _, r := range s.rings {
		r.known = len(r.recs)
	}
	s.happen(s.rnd.Intn(6))
	for _, r := range s.rings {
		r.look()
		s.happen(s.rnd.Intn(2))
	}
	return nil
}

func TestPairsBehindLossyRingsAreTrue(t *testing.T) {
	found, losses := 0, 0
	for seed := int64(1); seed <= 300; seed++ {
		rnd := rand.New(rand.NewSource(seed))
		r := &rule{stage: []int{0, 1}, last: 1}
		if seed%3 == 0 {
			r = &rule{stage: []int{0}, cycle: true}
		}
		s := &sim{rnd: rnd}
		size := 8 + rnd.Intn(60)
		if seed%5 == 0 {
			size = 1 << 20 // nothing is lost: all pairs must be there
		}
		for i := range 1 + rnd.Intn(5) {
			s.rings = append(s.rings, &simRing{sim: s, index: i, size: size})
		}
		schema := testSchema("x")
		j := &testJoin{t: t, streams: map[string]*event.Stream{"x": {Schema: schema}}}
		key := j.compile("k", "x")
		var streams []*event.Stream
		spec := Spec{Cycle: r.cycle, KeepRaw: int(seed%2*9 - 1)} // all, or 8 bytes
		for i, st := range r.stage {
			streams = append(streams, &event.Stream{Index: i, Schema: schema})
			spec.In = append(spec.In, In{Stage: st, Key: key})
		}
		pair := &event.Stream{Index: 9, Schema: &event.Schema{Name: "p"}}
		spec.Pairs = [][]*event.Stream{{nil, pair}, {nil, nil}}
		if r.cycle {
			spec.Pairs = [][]*event.Stream{{pair}}
		}
		var hs []happening
		at := event.Time(1)
		for range 2000 {
			at += event.Time(1 + rnd.Intn(5))
			h := happening{at: at, stream: rnd.Intn(len(r.stage)), key: int64(rnd.Intn(6))}
			hs = append(hs, h)
			raw := binary.LittleEndian.AppendUint64(nil, uint64(h.key))
			s.todo = append(s.todo, event.Event{
				Time: at, Stream: streams[h.stream], Raw: binary.LittleEndian.AppendUint64(raw, 0),
			})
			s.where = append(s.where, rnd.Intn(len(s.rings)))
		}
		truth := map[string]bool{}
		for _, p := range r.reference(hs) {
			truth[p] = true
		}
		router := &flow.Router{}
		spec.LossEnd = router.LossEnd
		got := 0
		join := New(spec, sinkFunc(func(evs []*event.Event) {
			for _, e := range evs {
				a, b := e.Derived.Start, e.Derived.End
				p := fmt.Sprintf("%d@%d-%d@%d", a.Stream.Index, a.Time, b.Stream.Index, b.Time)
				if !truth[p] {
					t.Errorf("seed %d: pair %s never was", seed, p)
				}
				got++
			}
		}))
		router.Add(join, []int{0, 1}[:len(streams)], len(streams))
		m := order.NewMerge(s)
		for len(s.todo) > 0 {
			s.Poll(context.Background(), 0)
			m.Round(router.Events, false)
		}
		// The source reports at the end the losses that the kernel had no chance to report.
		for _, ring := range s.rings {
			if ring.lost > 0 {
				ring.recs = append(ring.recs, event.Event{Kind: event.Lost, Count: ring.lost, Time: at})
			}
		}
		for range 2 {
			for _, ring := range s.rings {
				ring.known, ring.visible = len(ring.recs), len(ring.recs)
			}
			m.Round(router.Events, true)
		}
		if int(router.Samples)+int(router.LostN) != len(hs) || int(router.LostN) != s.lost {
			t.Errorf("seed %d: got %d seen + %d lost, want %d generated", seed, router.Samples,
				router.LostN, len(hs))
		}
		if s.lost == 0 && got != len(truth) {
			t.Errorf("seed %d: got %d pairs without a loss, want all %d", seed, got, len(truth))
		}
		if t.Failed() {
			return
		}
		found, losses = found+got, losses+s.lost
	}
	if found < 10000 || losses < 1000 {
		t.Errorf("got %d pairs and %d losses in all, want a test that has some", found, losses)
	}
}
