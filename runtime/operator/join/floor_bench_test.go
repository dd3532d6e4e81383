package join

import (
	"encoding/binary"
	"fmt"
	"testing"

	"ppscript/runtime/event"
)

// openKeys are how many starts wait in the benchmarks of what waiting costs.
var openKeys = []int{10_000, 1 << 20}

// BenchmarkOpen is a join in which so many starts wait: an end takes its start, and the next
// start waits, in the order of the starts.
func BenchmarkOpen(b *testing.B) {
	for _, open := range openKeys {
		b.Run(fmt.Sprintf("join/keys=%d", open), func(b *testing.B) {
			s, evs := benchEvents(256, 1)
			j := New(s.spec(b, 16), &countSink{})
			at, n := event.Time(0), 0
			pass := func(stream int) {
				for k := 0; k < open; k += len(evs) {
					batch := evs[:min(len(evs), open-k)]
					for i, e := range batch {
						at++
						e.Time, e.Stream = at, s.streams[stream]
						binary.LittleEndian.PutUint64(e.Raw, spreadKey(k+i, open))
					}
					j.Events(batch)
					n += len(batch)
				}
			}
			pass(0)
			n = 0
			for b.Loop() {
				pass(1)
				pass(0)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/event")
		})
	}
	// What no join can be without: a map from keys to times alone, which is looked into
	// and written by as many events, and has no order to evict by.
	for _, open := range openKeys {
		b.Run(fmt.Sprintf("map/keys=%d", open), func(b *testing.B) {
			m := make(map[uint64]event.Time, open)
			n, sum := 0, event.Time(0)
			for k := range open {
				m[spreadKey(k, open)] = event.Time(k)
			}
			for b.Loop() {
				for k := range open {
					key := spreadKey(k, open)
					sum += m[key]
					delete(m, key)
				}
				for k := range open {
					m[spreadKey(k, open)] = event.Time(k)
				}
				n += 2 * open
			}
			if len(m) != open || sum == 0 {
				b.Fatalf("got %d keys, want %d", len(m), open)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/event")
		})
	}
}

// spreadKey is the key of the event at k of so many, which are not in the order of their
// numbers.
func spreadKey(k, of int) uint64 { return uint64(k) * 7919 % uint64(of) }
