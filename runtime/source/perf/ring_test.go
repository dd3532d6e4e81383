package perf

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// memoryRing is a ring whose producer is the test.
func memoryRing(size int, d *Decoder) *ring {
	return &ring{
		memory: memory{page: new(unix.PerfEventMmapPage), data: make([]byte, size)}, dec: d, cpu: 3,
	}
}

// put writes rec as the kernel would; false if there is no room.
func (r *ring) put(rec []byte) bool {
	head := r.page.Data_head
	if head+uint64(len(rec))-r.page.Data_tail > uint64(len(r.data)) {
		return false
	}
	for i, b := range rec {
		r.data[(head+uint64(i))&uint64(len(r.data)-1)] = b
	}
	r.page.Data_head += uint64(len(rec))
	return true
}

func (r *ring) show() {
	r.visible = r.head() + uint64(len(r.final))
	r.known = r.visible
}

// sized is a sample of tracepointDecoder with n bytes of raw data, the first
// of which is tag.
func sized(n int, tag byte) []byte {
	raw := make([]byte, n)
	raw[0] = tag
	return newRecord(unix.PERF_RECORD_SAMPLE, 0).u64(valID, valPID|valTID<<32, valTime, valCPU).
		u32(uint32(n)).bytes(raw).record()
}

func TestRingOfAnySizes(t *testing.T) {
	d, _ := tracepointDecoder()
	r := memoryRing(4096, d)
	rnd := rand.New(rand.NewPCG(5, 6))
	var want, got []byte
	batch := make([]event.Event, 5)
	for i := range 5000 {
		rec := sized(4+8*rnd.IntN(120), byte(i))
		for !r.put(rec) {
			r.show()
			n := r.Read(batch[:1+rnd.IntN(5)], r.visible)
			for j := range batch[:n] {
				got = append(got, batch[j].Raw[0])
				if batch[j].CPU != 3 {
					t.Fatalf("CPU: got %d, want that of the ring", batch[j].CPU)
				}
			}
			r.Release()
		}
		want = append(want, byte(i))
	}
	r.show()
	for r.Pos() < r.visible {
		for _, e := range batch[:r.Read(batch, r.visible)] {
			got = append(got, e.Raw[0])
		}
		r.Release()
	}
	if !bytes.Equal(got, want) || r.stat.Corrupt != 0 || r.stat.Records != 5000 {
		t.Errorf("got %d records, corrupt %d; want 5000 in order", len(got), r.stat.Corrupt)
	}
}

func TestReadStopsAtUntil(t *testing.T) {
	d, rec := tracepointDecoder()
	r := memoryRing(4096, d)
	for range 10 {
		r.put(rec)
	}
	r.show()
	batch := make([]event.Event, 20)
	// Inside the third record: it is the last one read.
	if n := r.Read(batch, uint64(2*len(rec)+8)); n != 3 || r.Pos() != uint64(3*len(rec)) {
		t.Errorf("got %d events and position %d, want 3 and %d", n, r.Pos(), 3*len(rec))
	}
	if n := r.Read(batch, uint64(5*len(rec))); n != 2 {
		t.Errorf("got %d events, want 2", n)
	}
	if n := r.Read(batch, 1<<62); n != 5 || r.stat.Corrupt != 0 {
		t.Errorf("got %d events, want 5", n)
	}
}

// TestSamplesOutsideAreLeftOut checks that samples that came before all events were enabled, and
// while they are disabled, are left out, records about processes are not.
func TestSamplesOutsideAreLeftOut(t *testing.T) {
	d, rec := tracepointDecoder()
	r := memoryRing(4096, d)
	comm := newRecord(unix.PERF_RECORD_COMM, 0).u32(valPID).u32(valTID).text("sh").sideID()
	for _, record := range [][]byte{rec, comm, rec} {
		r.put(record)
	}
	r.from = r.written()
	r.put(rec)
	r.to = r.written()
	for _, record := range [][]byte{rec, comm, rec} {
		r.put(record)
	}
	r.show()
	batch := make([]event.Event, 10)
	n := r.Read(batch, r.visible)
	var kinds []event.RecordKind
	for _, e := range batch[:n] {
		kinds = append(kinds, e.Kind)
	}
	slices.Sort(kinds) // they are in order of their times
	want := []event.RecordKind{event.Sample, event.Comm, event.Comm}
	slices.Sort(want)
	if !slices.Equal(kinds, want) || r.stat.Corrupt != 0 {
		t.Errorf("got %v and %d corrupt, want %v", kinds, r.stat.Corrupt, want)
	}
}

func TestFinalLossIsReadOnce(t *testing.T) {
	d, rec := tracepointDecoder()
	r := memoryRing(4096, d)
	r.put(rec)
	r.show()
	r.addFinal(valID, 17)
	batch := make([]event.Event, 1)
	if n := r.Read(batch, r.visible); n != 1 || batch[0].Kind != event.Sample {
		t.Fatalf("got %d events, %+v; want the sample", n, batch[0])
	}
	if n := r.Read(batch, r.visible); n != 1 || batch[0].Kind != event.Lost || batch[0].Count != 17 ||
		batch[0].Time != valTime {
		t.Fatalf("got %d events, %+v; want 17 lost", n, batch[0])
	}
	if n := r.Read(batch, r.visible); n != 0 || r.Pos() != r.visible {
		t.Errorf("got %d more events at %d of %d", n, r.Pos(), r.visible)
	}
	r.Release()
	if r.page.Data_tail != uint64(len(rec)) {
		t.Errorf("tail: got %d, want %d: the final record is no part of the ring", r.page.Data_tail, len(rec))
	}
}

// A record that was written after later records, which interrupted it, is read
// in the order of its time. Losses are not moved.
func TestInterruptedRecordsAreInOrder(t *testing.T) {
	d, _ := tracepointDecoder()
	at := func(time uint64) []byte {
		return newRecord(unix.PERF_RECORD_SAMPLE, 0).u64(valID, valPID|valTID<<32, time, valCPU).u32(12).
			bytes(make([]byte, 12)).record()
	}
	lost := newRecord(unix.PERF_RECORD_LOST, 0).u64(valID, 3, valPID|valTID<<32, 55, valCPU, valID).record()
	f := func(records [][]byte, want ...event.Time) {
		t.Helper()
		r := memoryRing(4096, d)
		for _, rec := range records {
			r.put(rec)
		}
		r.show()
		batch := make([]event.Event, 16)
		var got []event.Time
		for _, e := range batch[:r.Read(batch, r.visible)] {
			got = append(got, e.Time)
		}
		if !slices.Equal(got, want) {
			t.Errorf("got times %v, want %v", got, want)
		}
	}
	f([][]byte{at(10), at(20), at(30), at(12), at(40)}, 10, 12, 20, 30, 40)
	f([][]byte{at(50), at(60), at(20), at(10)}, 10, 20, 50, 60)
	f([][]byte{at(20), lost, at(10), at(60), at(58)}, 20, 55, 10, 58, 60)
}

func TestCorruptRingIsSkipped(t *testing.T) {
	d, rec := tracepointDecoder()
	for _, size := range []byte{0, 4, 9, 255} {
		r := memoryRing(4096, d)
		r.put(rec)
		bad := bytes.Clone(rec)
		bad[6] = size
		r.put(bad)
		r.show()
		batch := make([]event.Event, 8)
		if n := r.Read(batch, r.visible); n != 1 || r.stat.Corrupt != 1 || r.Pos() != r.visible {
			t.Errorf("size %d: got %d events, %d corrupt, position %d; want 1, 1, %d", size, n,
				r.stat.Corrupt, r.Pos(), r.visible)
		}
	}
}

// TestBurstsReadWhatDecodeReads compares the two ways over rings of one
// format with everything in them that may come.
func TestBurstsReadWhatDecodeReads(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	bursts := 0
	for range 300 {
		f := randomFormat(rnd)
		f.SampleType |= unix.PERF_SAMPLE_TIME
		f.SampleType &^= unix.PERF_SAMPLE_CALLCHAIN * uint64(rnd.IntN(2))
		l := NewLayout(f)
		rings := [2]*ring{}
		for i := range rings {
			d := NewDecoder(l)
			d.Add(valID, &event.Stream{Label: "a"}, l)
			rings[i] = memoryRing(1<<16, d)
		}
		if rings[0].dec.shared != nil {
			bursts++
		}
		rings[1].dec.shared = nil
		for range 60 {
			var rec []byte
			switch rnd.IntN(10) {
			case 0:
				rec = sideRecords[rnd.IntN(len(sideRecords))].rec
			case 1:
				rec = sampleRecord(f, false)
				rec[rnd.IntN(len(rec)-8)+8] ^= byte(1 << rnd.IntN(8)) // damaged, not in the header
			default:
				rec = sampleRecord(f, rnd.IntN(2) == 0)
			}
			for _, r := range rings {
				r.put(rec)
			}
		}
		var got [2][]event.Event
		for i, r := range rings {
			r.show()
			got[i] = make([]event.Event, 64)
			got[i] = got[i][:r.Read(got[i], r.visible)]
		}
		if len(got[0]) != len(got[1]) || rings[0].stat != rings[1].stat {
			t.Fatalf("format %+v: got %d events, %+v; want %d, %+v", f, len(got[0]), rings[0].stat,
				len(got[1]), rings[1].stat)
		}
		for i := range got[0] {
			a, b := got[0][i], got[1][i]
			if a.Stream != nil && b.Stream != nil {
				a.Stream = b.Stream
			}
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("format %+v: event %d: got %+v, want %+v", f, i, a, b)
			}
		}
	}
	if bursts < 20 {
		t.Errorf("only %d formats were read in bursts", bursts)
	}
}

func BenchmarkRingRead(b *testing.B) {
	d, rec := tracepointDecoder()
	r := memoryRing(1<<19, d)
	for r.put(rec) {
	}
	r.show()
	batch := make([]event.Event, 256)
	n := 0
	b.SetBytes(int64(len(rec)))
	b.ReportAllocs()
	for i := 0; i < b.N; i += n {
		if r.pos == r.visible {
			r.pos = 0
		}
		if n = r.Read(batch, r.visible); n == 0 || batch[n-1].TID != valTID {
			b.Fatalf("got %d events", n)
		}
	}
}

// A ring that was full is tight until later records are visible. Then it is
// like any other ring, and does not delay others.
func TestFullRingIsTightUntilThereIsMore(t *testing.T) {
	d, rec := tracepointDecoder()
	const size = 1 << 20
	r := memoryRing(size, d)
	s := &Source{ringSet: ringSet{live: []*ring{r}}, att: &attachment{}}
	f := func(when string, want bool) {
		t.Helper()
		s.look()
		if r.Tight() != want {
			t.Errorf("%s: got tight %v, want %v", when, r.Tight(), want)
		}
	}
	read := func() {
		batch := make([]event.Event, 64)
		for r.Pos() < r.visible {
			r.Read(batch, r.visible)
		}
		r.Release()
	}
	f("empty", false)
	r.put(rec)
	f("one record", false)
	for r.put(rec) {
	}
	f("full", true)
	read()
	f("read, nothing behind", true)
	r.put(rec)
	f("a record behind", false)
	read()
	f("read again", false)

	// The ring is full after the visible part, which is detected when that part
	// is released.
	r.put(rec)
	s.look()
	for r.put(rec) {
	}
	r.Release()
	f("full since the last look", true)
	read()
	r.put(rec)
	f("a record behind that", false)
}
