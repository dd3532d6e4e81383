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

const loopRec = 104 // bytes of a record

// A loopRing delivers the same records again and again, each time later. They
// lie one behind the other, and an event is made from its record, as in a ring
// of the kernel.
type loopRing struct {
	streams     []*event.Stream
	recs        []byte
	next        int        // offset of the next record
	later, step event.Time // how much later this round is than the first, and each than the one before
	pos, end    uint64
}

// add appends a record: its time where a header would be, then the event.
func (r *loopRing) add(at event.Time, stream int, key uint64) {
	rec := make([]byte, loopRec)
	binary.LittleEndian.PutUint64(rec, uint64(at))
	rec[8] = byte(stream)
	binary.LittleEndian.PutUint64(rec[32:], key)
	r.recs = append(r.recs, rec...)
}

func (r *loopRing) Bounds() (known, visible uint64) { return r.end, r.end }
func (r *loopRing) Pos() uint64                     { return r.pos }
func (r *loopRing) Release()                        {}
func (r *loopRing) Read(dst []event.Event, until uint64) int {
	n := int(min(uint64(len(dst)), until-r.pos))
	for i := range n {
		if r.next == len(r.recs) {
			r.next, r.later = 0, r.later+r.step
		}
		rec := r.recs[r.next:][:loopRec:loopRec]
		r.next += loopRec
		dst[i] = event.Event{Time: event.Time(binary.LittleEndian.Uint64(rec)) + r.later,
			Stream: r.streams[rec[8]], Rec: rec, Raw: rec[32:96], PID: 1, TID: 1}
	}
	r.pos += uint64(n)
	return n
}

type loopSource struct{ rings []event.Ring }

func (s *loopSource) Streams() []*event.Stream                  { return nil }
func (s *loopSource) Rings() []event.Ring                       { return s.rings }
func (s *loopSource) Poll(context.Context, time.Duration) error { return nil }
func (s *loopSource) Close() error                              { return nil }

// BenchmarkOrderedJoin is the whole way of an event from its ring to a pair:
// read, merge, route, join.
func BenchmarkOrderedJoin(b *testing.B) {
	for _, rings := range []int{1, 2, 8, 256} {
		for _, bursts := range []int{1, 16} {
			b.Run(fmt.Sprintf("rings=%d/bursts=%d", rings, bursts), func(b *testing.B) {
				s, _ := benchEvents(2, 1)
				src := &loopSource{}
				const each = 512
				for range rings {
					src.rings = append(src.rings, &loopRing{
						streams: s.streams, step: event.Time(each*rings) * 100,
					})
				}
				// Each CPU does some calls in a row, then another one does.
				rnd := rand.New(rand.NewSource(1))
				left := make([]int, rings)
				at := event.Time(1)
				for total := 0; total < each*rings; {
					k := rnd.Intn(rings)
					r := src.rings[k].(*loopRing)
					for range bursts {
						if left[k] == each {
							break
						}
						r.add(at, left[k]%2, uint64(k))
						left[k]++
						total++
						at += 100
					}
				}
				router := &flow.Router{}
				sink := &countSink{}
				router.Add(New(s.spec(b, 16), sink), []int{0, 1}, 2)
				m := order.NewMerge(src)
				n := uint64(0)
				b.ReportAllocs()
				for b.Loop() {
					for _, r := range src.rings {
						r := r.(*loopRing)
						r.end += each
					}
					n += uint64(each * rings)
					m.Round(router.Events, false)
				}
				if router.Samples != n || m.Stats().Late != 0 || sink.n != int(n/2) {
					b.Errorf("got %d samples, %d late, %d pairs; want %d, 0, %d", router.Samples,
						m.Stats().Late, sink.n, n, n/2)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/event")
			})
		}
	}
}
