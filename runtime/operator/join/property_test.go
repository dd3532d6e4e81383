package join

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"ppscript/runtime/event"
)

// This file compares the engine with the definition: every start and end are
// a pair if no event of their key lies between them, unless it may neither
// start nor end anything, and no loss touches the time between.

// A happening is an event of the reference, or a loss.
type happening struct {
	at, until event.Time
	stream    int
	key       int64
	role      int64
	ring      int32
	lost      bool
}

// A rule is a join's definition in the reference.
type rule struct {
	stage  []int // by stream; -1 untraced
	last   int
	cycle  bool
	roles  bool
	byRing bool
}

func (r *rule) starts(h *happening) bool {
	return (r.stage[h.stream] < r.last || r.cycle) && (!r.roles || h.role&1 != 0)
}

func (r *rule) ends(h *happening) bool {
	return (r.stage[h.stream] > 0 || r.cycle) && (!r.roles || h.role&2 != 0)
}

func (r *rule) follows(a, b *happening) bool {
	next := r.stage[a.stream] + 1
	if r.cycle && next > r.last {
		next = 0
	}
	return r.stage[b.stream] == next
}

// reference finds the pairs by looking at all events before each end.
func (r *rule) reference(hs []happening) []string {
	// Events inside a loss take no part.
	var in []*happening
	var ends [3]event.Time
	for i := range hs {
		h := &hs[i]
		switch {
		case h.lost:
			in = append(in, h)
			if !r.byRing {
				ends[h.ring] = h.until
			}
		case r.stage[h.stream] < 0:
		case h.at >= max(ends[0], ends[1], ends[2]):
			in = append(in, h)
		}
	}
	var pairs []string
	for i, e := range in {
		if e.lost || !r.ends(e) {
			continue
		}
		// The last event of the key that had any role decides.
	back:
		for k := i - 1; k >= 0; k-- {
			s := in[k]
			switch {
			case s.lost:
				if !r.byRing || s.ring == e.ring {
					break back
				}
				continue
			case s.key != e.key:
				continue
			}
			if r.starts(s) {
				if r.follows(s, e) && s.at < e.at {
					pairs = append(pairs, fmt.Sprintf("%d@%d-%d@%d", s.stream, s.at, e.stream, e.at))
				}
				break
			}
			if r.ends(s) {
				break // it took the waiting one
			}
		}
	}
	return pairs
}

func TestEngineAgainstTheDefinition(t *testing.T) {
	total := 0
	for seed := int64(1); seed <= 400; seed++ {
		rnd := rand.New(rand.NewSource(seed))
		r := &rule{cycle: rnd.Intn(3) == 0, roles: rnd.Intn(3) == 0, byRing: rnd.Intn(3) == 0}
		stages := 2 + rnd.Intn(2)
		if r.cycle {
			stages = 1 + rnd.Intn(3)
		}
		r.last = stages - 1
		for s := range stages {
			for range 1 + rnd.Intn(2) {
				r.stage = append(r.stage, s)
			}
		}
		if rnd.Intn(2) == 0 {
			r.stage = append(r.stage, -1)
		}
		hs := r.happenings(rnd)
		want := r.reference(hs)
		got := r.engine(t, hs, 1+rnd.Intn(40), []int{-1, 8, 24}[seed%3], seed%4 == 0)
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: stages %v cycle %v roles %v: got %d pairs %v, want %d %v", seed, r.stage,
				r.cycle, r.roles, len(got), got, len(want), want)
		}
		total += len(want)
	}
	if total < 10000 {
		t.Errorf("got %d pairs in all, want a test that has some", total)
	}
}

// happenings makes a random run in time order. With byRing a key stays in its
// ring.
func (r *rule) happenings(rnd *rand.Rand) []happening {
	var hs []happening
	keys := 1 + rnd.Intn(8)
	at := event.Time(1)
	for range 200 {
		at += event.Time(rnd.Intn(4)) // equal times too
		h := happening{
			at:     at,
			stream: rnd.Intn(len(r.stage)),
			key:    int64(rnd.Intn(keys)),
			role:   int64(rnd.Intn(4)),
			ring:   int32(rnd.Intn(3)),
		}
		if r.byRing {
			h.ring = int32(h.key) % 3
		}
		if rnd.Intn(30) == 0 {
			h.lost, h.until = true, at+event.Time(rnd.Intn(12))
		}
		hs = append(hs, h)
	}
	slices.SortStableFunc(hs, func(a, b happening) int { return cmp.Compare(a.at, b.at) })
	return hs
}

// engine returns the pairs of the engine. Of waiting events raw bytes of the
// record are kept. A large table has had many keys.
func (r *rule) engine(t *testing.T, hs []happening, batch, raw int, large bool) []string {
	schema := testSchema("x")
	spec := Spec{Cycle: r.cycle, ByRing: r.byRing, KeepRaw: raw}
	var streams []*event.Stream
	ends := map[int32]event.Time{}
	spec.LossEnd = func(ring int32) event.Time { return ends[ring] }
	j := &testJoin{t: t, streams: map[string]*event.Stream{"x": {Schema: schema}}}
	key, role := j.compile("k", "x"), j.compile("v", "x")
	for i, s := range r.stage {
		streams = append(streams, &event.Stream{Index: i, Schema: schema})
		in := In{Stage: s, Key: key, Untraced: s < 0}
		if r.roles {
			in.Role = role
		}
		spec.In = append(spec.In, in)
	}
	pair := &event.Stream{Index: len(streams), Schema: &event.Schema{Name: "p"}}
	for a := range r.stage {
		spec.Pairs = append(spec.Pairs, make([]*event.Stream, len(r.stage)))
		for b := range r.stage {
			ha, hb := happening{stream: a}, happening{stream: b}
			if r.stage[a] >= 0 && r.stage[b] >= 0 && r.follows(&ha, &hb) {
				spec.Pairs[a][b] = pair
			}
		}
	}
	var got []string
	join := New(spec, sinkFunc(func(evs []*event.Event) {
		for _, e := range evs {
			s, n := e.Derived.Start, e.Derived.End
			want := raw
			if raw < 0 {
				want = len(n.Raw)
			}
			if !bytes.Equal(s.Raw[:8], n.Raw[:8]) || len(s.Raw) != want || s.Kind != event.Sample {
				t.Errorf("got a start with record %x, want the key of %x and %d bytes", s.Raw, n.Raw, want)
			}
			got = append(got, fmt.Sprintf("%d@%d-%d@%d", s.Stream.Index, s.Time, n.Stream.Index, n.Time))
		}
	}))
	for k := range int64(20000) {
		if large {
			join.rows.insert(-1-k, nil)
		}
	}
	if join.rows.ints.Large() != large {
		t.Errorf("got a large table: %v, want %v", !large, large)
	}
	var evs []*event.Event
	flush := func() { join.Events(evs); evs = nil }
	for _, h := range hs {
		if h.lost {
			flush()
			ends[h.ring] = h.until
			join.Lost(h.ring, 1, h.at)
			continue
		}
		rec := binary.LittleEndian.AppendUint64(nil, uint64(h.key))
		rec = binary.LittleEndian.AppendUint64(rec, uint64(h.role))
		rec = append(rec, make([]byte, 16)...)
		evs = append(evs, &event.Event{Time: h.at, Stream: streams[h.stream], Raw: rec, Ring: h.ring})
		if len(evs) == batch {
			flush()
		}
	}
	flush()
	return got
}
