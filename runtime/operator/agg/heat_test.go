package agg

import (
	"math"
	"math/rand"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// Every value is in the cell whose bounds hold it, for any order and range of
// times and values.
func TestHeatCountsEveryValueOnce(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	for round := range 200 {
		var h Heat
		type point struct {
			at event.Time
			v  int64
		}
		var all []point
		span := int64(1) << (10 + rnd.Intn(45))
		base := event.Time(rnd.Int63n(1 << 55))
		for range 1 + rnd.Intn(300) {
			p := point{base + event.Time(rnd.Int63n(span)), rnd.Int63() >> rnd.Intn(63)}
			switch rnd.Intn(20) {
			case 0:
				p.v = -p.v
			case 1:
				p.v = math.MaxInt64
			}
			all = append(all, p)
			h.Add(p.at, p.v)
		}
		m := h.Result(1 + rnd.Intn(100))
		if m.Total() != uint64(len(all)) {
			t.Fatalf("round %d: got %d values, want %d", round, m.Total(), len(all))
		}
		want := make([][]uint64, len(m.Rows))
		for i := range want {
			want[i] = make([]uint64, m.Columns)
		}
		for _, p := range all {
			c := int((p.at - m.Begin) / m.Step)
			for i, r := range m.Rows {
				if (r.Lo <= p.v || r.Lo == result.OpenLo) && (p.v < r.Hi || r.Hi == result.OpenHi) {
					want[i][c]++
				}
			}
		}
		for i, r := range m.Rows {
			if i > 0 && r.Lo != m.Rows[i-1].Hi {
				t.Fatalf("round %d: row %d begins at %d, the one below ends at %d", round,
					i, r.Lo, m.Rows[i-1].Hi)
			}
			for c := range r.Counts {
				if r.Counts[c] != want[i][c] {
					t.Fatalf("round %d: row [%d, %d), column %d: got %d, want %d", round, r.Lo, r.Hi,
						c, r.Counts[c], want[i][c])
				}
			}
		}
	}
}

func TestHeatOfNothing(t *testing.T) {
	var h Heat
	if m := h.Result(10); m.Total() != 0 || len(m.Rows) != 0 || m.Columns != 0 {
		t.Errorf("got %+v, want an empty map", m)
	}
}

func TestHeatDoesNotAllocate(t *testing.T) {
	var h Heat
	h.Add(1, 1)
	at := event.Time(1)
	if n := testing.AllocsPerRun(100, func() { at++; h.Add(at, int64(at)) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}
