package perf

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"ppscript/runtime/event"
)

// spooledRing is a ring of size bytes, whose producer is the test, with a spool.
func spooledRing(t *testing.T, size, spool int, d *Decoder) *ring {
	t.Helper()
	r := memoryRing(size, d)
	if err := r.addSpool(spool); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.spool.close(r) })
	return r
}

// putKernel writes rec as the kernel would; false if there is no room.
func (r *ring) putKernel(rec []byte) bool {
	data, page := r.spool.kernel, r.spool.page
	head := page.Data_head
	if head+uint64(len(rec))-atomic.LoadUint64(&page.Data_tail) > uint64(len(data)) {
		return false
	}
	for i, b := range rec {
		data[(head+uint64(i))&uint64(len(data)-1)] = b
	}
	atomic.StoreUint64(&page.Data_head, head+uint64(len(rec)))
	return true
}

// TestSpoolKeepsTheOrder fills, takes and reads by turns, by so much that ring
// and spool wrap many times, and that the spool is full now and then.
func TestSpoolKeepsTheOrder(t *testing.T) {
	d, _ := tracepointDecoder()
	r := spooledRing(t, 4096, 1, d)
	if got, want := len(r.data), leastSpool*4096; got != want {
		t.Fatalf("spool: got %d bytes, want %d", got, want)
	}
	rnd := rand.New(rand.NewPCG(7, 8))
	batch := make([]event.Event, 7)
	next, full := byte(0), 0
	read := func(n int) {
		r.visible = r.readable()
		r.known = r.visible
		for ; n > 0 && r.Pos() < r.visible; n-- {
			for _, e := range batch[:r.Read(batch, r.visible)] {
				if e.Raw[0] != next {
					t.Fatalf("record: got %d, want %d", e.Raw[0], next)
				}
				next++
			}
			r.Release()
		}
	}
	for i := range 20000 {
		rec := sized(4+8*rnd.IntN(120), byte(i))
		for !r.putKernel(rec) {
			before := r.head()
			r.spool.take(r)
			if r.head() == before {
				full++
				read(1 + rnd.IntN(40))
			}
		}
		if rnd.IntN(50) == 0 {
			read(rnd.IntN(3))
		}
	}
	r.spool.end(r)
	read(1 << 20)
	if r.stat.Records != 20000 || r.stat.Corrupt != 0 || full == 0 {
		t.Errorf("got %d records, %d corrupt, %d times full; want 20000 in order, and a spool that was full",
			r.stat.Records, r.stat.Corrupt, full)
	}
}

// TestSpoolBesideTheReader takes while the reader reads.
func TestSpoolBesideTheReader(t *testing.T) {
	d, _ := tracepointDecoder()
	r := spooledRing(t, 4096, 1<<16, d)
	const records = 50000
	var stop atomic.Bool
	done := make(chan bool)
	go func() {
		for !stop.Load() {
			r.spool.take(r)
			runtime.Gosched()
		}
		close(done)
	}()
	go func() {
		for i := range records {
			for rec := sized(60, byte(i)); !r.putKernel(rec); {
				runtime.Gosched()
			}
		}
	}()
	batch := make([]event.Event, 64)
	for next := 0; next < records; {
		r.visible = r.readable()
		r.known = r.visible
		for _, e := range batch[:r.Read(batch, r.visible)] {
			if e.Raw[0] != byte(next) {
				t.Fatalf("record %d: got %d", next, e.Raw[0])
			}
			next++
		}
		r.Release()
		runtime.Gosched()
	}
	stop.Store(true)
	<-done
}

// TestSpoolIsSuspected: a ring that was full when it was emptied may have lost
// the next records.
func TestSpoolIsSuspected(t *testing.T) {
	d, _ := tracepointDecoder()
	r := spooledRing(t, 4096, 1, d)
	for r.putKernel(sized(60, 1)) {
	}
	r.look(r.readable())
	if !r.Tight() {
		t.Error("got a ring that lost nothing, want one that may have lost what did not fit")
	}
	r.putKernel(sized(60, 2))
	r.look(r.readable())
	if r.Tight() {
		t.Error("got a ring that may have lost something, want one whose next record has come")
	}
}

// TestBusyReaderLosesNothing: the rings are emptied while the reader does not
// poll.
func TestBusyReaderLosesNothing(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	s := openSource(t, Config{
		Events: []EventConfig{getppid(t, h.tid)},
		Target: Target{CPUs: []int{0}},
		Pages:  2,
		Spool:  1 << 20,
	})
	s.Poll(t.Context(), 0)
	page := s.live[0].page
	for range 100 {
		h.do("call 50")
		for atomic.LoadUint64(&page.Data_tail) != atomic.LoadUint64(&page.Data_head) {
			runtime.Gosched() // until the pump has emptied the ring of 8 KiB
		}
	}
	c := drain(t, s)
	if c.samples[0] != 5000 || c.lost != 0 {
		t.Errorf("got %d samples and %d lost, want 5000 and none", c.samples[0], c.lost)
	}
}

// TestSpoolWithoutRoomLosesAsTheRing: records that find no room are counted, and
// the last ones are read.
func TestSpoolWithoutRoomLosesAsTheRing(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	s := openSource(t, Config{
		Events: []EventConfig{getppid(t, h.tid)}, Target: Target{CPUs: []int{0}}, Pages: 1, Spool: 1,
	})
	h.do("call 5000")
	c := drain(t, s)
	if c.samples[0]+c.lost != 5000 || c.lost == 0 || c.samples[0] == 0 {
		t.Errorf("got %d samples + %d lost = %d, want 5000", c.samples[0], c.lost, c.samples[0]+c.lost)
	}
}
