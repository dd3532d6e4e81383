package perf

import (
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// The CPU of a ring goes offline and comes back repeatedly, also before anything
// was read. The records are read in order, with one loss at the begin of each new
// buffer, which has the time of the first record in it.
func TestContinuedRing(t *testing.T) {
	for _, spooled := range []bool{false, true} {
		d, _ := tracepointDecoder()
		r := memoryRing(4096, d)
		if spooled {
			r = spooledRing(t, 4096, 1, d)
		}
		rnd := rand.New(rand.NewPCG(3, 4))
		// The kernel's side: the buffer that is written to, and its records.
		into := memoryRing(4096, d)
		into.page, into.data = r.page, r.data
		if spooled {
			into.page, into.data = r.spool.page, r.spool.kernel
		}
		begun := map[int]uint64{} // the records that a buffer begins with, and its loss
		batch := make([]event.Event, 6)
		next, losses := 0, 0
		read := func(rounds int) {
			r.visible = r.readable()
			r.known = r.visible
			for ; rounds > 0 && r.Pos() < r.visible; rounds-- {
				n := r.Read(batch[:1+rnd.IntN(len(batch))], r.visible)
				if n == 0 {
					t.Fatalf("spooled %v: nothing read at %d of %d", spooled, r.Pos(), r.visible)
				}
				for _, e := range batch[:n] {
					if e.Kind == event.Lost {
						if want := begun[next]; uint64(e.Count) != want || want == 0 || e.Time != valTime ||
							e.CPU != 3 {
							t.Fatalf("spooled %v: before record %d: got a loss of %d at %d, want %d", spooled,
								next, e.Count, e.Time, want)
						}
						delete(begun, next)
						losses++
						continue
					}
					if begun[next] != 0 || e.Raw[0] != byte(next) {
						t.Fatalf("spooled %v: got record %d, want %d after a loss of %d", spooled, e.Raw[0],
							byte(next), begun[next])
					}
					next++
				}
				if rnd.IntN(2) == 0 {
					r.Release()
				}
			}
			r.Release()
		}
		const records = 5000
		for i := range records {
			if rnd.IntN(60) == 0 {
				fresh, lost := memoryRing(4096, d), uint64(1+rnd.IntN(9))
				if err := r.continueIn(fresh, loss{id: 7, count: lost}); err != nil {
					t.Fatal(err)
				}
				begun[i] = lost
				into = fresh
			}
			for rec := sized(4+8*rnd.IntN(60), byte(i)); !into.put(rec); {
				read(1 << 20)
			}
			if rnd.IntN(9) == 0 {
				read(rnd.IntN(4))
			}
		}
		r.ended = true
		if spooled {
			r.spool.end(r)
		}
		read(1 << 20)
		if next != records || losses == 0 || len(begun) != 0 || r.stat.Corrupt != 0 {
			t.Errorf("spooled %v: got %d records and %d losses, %d missing, %d corrupt; want %d records",
				spooled, next, losses, len(begun), r.stat.Corrupt, records)
		}
	}
}

// The ring of a CPU that came later begins with a loss, which is shown with the
// first record, or at the end.
func TestRingThatBeginsWithALoss(t *testing.T) {
	f := func(records int, spooled bool) {
		t.Helper()
		d, _ := tracepointDecoder()
		r := memoryRing(4096, d)
		r.beginWithLoss(loss{id: 7, count: 1})
		kernel := &ring{memory: memory{page: r.page, data: r.data}}
		if spooled {
			if err := r.addSpool(1); err != nil {
				t.Fatal(err)
			}
			defer r.spool.close(r)
		}
		batch := make([]event.Event, 8)
		if r.look(r.readable()); r.visible != 0 {
			t.Errorf("%d records: got %d bytes visible before there are any, want 0", records, r.visible)
		}
		for i := range records {
			kernel.put(sized(12, byte(i)))
		}
		if records == 0 {
			r.ended = true
		}
		r.look(r.readable())
		n := r.Read(batch, r.visible)
		if n != records+1 || batch[0].Kind != event.Lost || batch[0].Count != 1 || r.stat.Lost != 1 ||
			r.Pos() != r.visible {
			t.Errorf("%d records: got %d events, the first %+v", records, n, batch[0])
		}
		if l, ok := decodeLost(&batch[0]); !ok || l.ID != 7 ||
			le32(batch[0].Rec, 0) != unix.PERF_RECORD_LOST {
			t.Errorf("%d records: got %+v, %v, want a LOST record of event 7", records, l, ok)
		}
	}
	for _, spooled := range []bool{false, true} {
		f(0, spooled)
		f(3, spooled)
	}
}

// A loss with a known end is visible at once, and has the time of its end, unless the next
// record is earlier: times do not go back.
func TestLossThatEnds(t *testing.T) {
	f := func(until event.Time, records int, want event.Time, spooled bool) {
		t.Helper()
		d, _ := tracepointDecoder()
		r := memoryRing(4096, d)
		if spooled {
			r = spooledRing(t, 4096, 1, d)
		}
		into := memoryRing(4096, d)
		into.page, into.data = r.page, r.data
		if spooled {
			into.page, into.data = r.spool.page, r.spool.kernel
		}
		into.put(sized(12, 0))
		fresh := memoryRing(4096, d)
		if err := r.continueIn(fresh, loss{7, 2, 3, until}); err != nil {
			t.Fatal(err)
		}
		for i := range records {
			fresh.put(sized(12, byte(1+i)))
		}
		r.look(r.readable())
		batch := make([]event.Event, 8)
		n := r.Read(batch, r.visible)
		if n != 2+records || batch[1].Kind != event.Lost || batch[1].Count != 2 || batch[1].Time != want {
			t.Errorf("until %d, %d records: got %d events, the second %+v, want a loss at %d", until, records, n,
				batch[1], want)
		}
		if got := batch[1].LossBegin(); got != 3 {
			t.Errorf("got a loss that begins at %d, want 3", got)
		}
	}
	for _, spooled := range []bool{false, true} {
		f(valTime+5, 0, valTime+5, spooled)
		f(valTime+5, 2, valTime, spooled)
		f(valTime-5, 0, valTime, spooled)
	}
}

// The losses of the old buffer's events are reported once: by LOST records, read
// or waiting, or by the loss at the begin of the new buffer.
func TestUntoldLosses(t *testing.T) {
	d, _ := tracepointDecoder()
	r := memoryRing(4096, d)
	r.lostSeen = 10
	if got := r.untold(14); got != 4 {
		t.Errorf("got %d, want the 4 of 14 that no record told of", got)
	}
	r.lostSeen += 3 // of the new buffer
	if got := r.untold(3); got != 0 {
		t.Errorf("got %d, want none: the 3 were told", got)
	}
}
