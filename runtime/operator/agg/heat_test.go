package agg

import (
	"fmt"
	"math"
	"math/rand"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// TestHeatCountsEveryValueOnce checks that every value is in the cell whose bounds hold it, for any
// order and range of times and values.
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
			h.Add(p.at, event.IntNumber(p.v))
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

// TestHeatKeepsTheSign checks that negative values, 0 and fractions below 1, and unsigned values
// from 2^63 on have rows that say so, however few rows there are.
func TestHeatKeepsTheSign(t *testing.T) {
	f := func(rows int, want string, values ...event.Number) {
		t.Helper()
		var h Heat
		for _, v := range values {
			h.Add(1, v)
		}
		var got []string
		for _, r := range h.Result(rows).Rows {
			if r.Counts[0] > 0 {
				got = append(got, fmt.Sprintf("%d..%d:%d", r.Lo, r.Hi, r.Counts[0]))
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%v in %d rows: got %s, want %s", values, rows, text, want)
		}
	}
	i, u, x := event.IntNumber, event.UintOf, event.FloatNumber
	unsigned, _ := u(1<<63 + 5).Number()
	for _, rows := range []int{1, 4, 64} {
		f(rows, fmt.Sprintf("%d..0:3 0..1:2", result.OpenLo), i(-5), i(0), i(-1), x(0.5), x(-0.5))
	}
	f(64, fmt.Sprintf("%d..0:1 0..1:1 1..2:1", result.OpenLo), i(math.MinInt64), i(0), x(1.5))
	f(1, fmt.Sprintf("%d..0:1 0..1:1 1..%d:2", result.OpenLo, result.OpenHi), i(-1), i(0), i(7), unsigned)
	f(64, fmt.Sprintf("%d..%d:3", int64(15)<<59, result.OpenHi), unsigned, x(1e300), i(math.MaxInt64))
}

func TestHeatOfNothing(t *testing.T) {
	var h Heat
	if m := h.Result(10); m.Total() != 0 || len(m.Rows) != 0 || m.Columns != 0 {
		t.Errorf("got %+v, want an empty map", m)
	}
}

func TestHeatDoesNotAllocate(t *testing.T) {
	var h Heat
	h.Add(1, event.IntNumber(1))
	at := event.Time(1)
	if n := testing.AllocsPerRun(100, func() { at++; h.Add(at, event.IntNumber(int64(at))) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}
