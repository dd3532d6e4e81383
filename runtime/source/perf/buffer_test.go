package perf

import (
	"encoding/binary"
	"math"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"ppscript/runtime/event"
	"ppscript/runtime/record/ringbuf"
	"ppscript/runtime/record/sent"
)

// A fake is the memory of a buffer of 4 KiB.
type fake struct {
	buffer
	words []uint64 // the page with the head, the data twice
	at    uint64   // where is written next
}

func newFake(fields ...sent.Copy) *fake {
	f := &fake{words: make([]uint64, (4096+2*4096)/8)}
	f.Shared = unsafe.Slice((*byte)(unsafe.Pointer(&f.words[0])), 8*len(f.words))
	f.Consumer = make([]byte, 8)
	f.Data, f.Mask = unsafe.Pointer(&f.words[4096/8]), 4095
	f.untold = func() uint64 { return 0 }
	own := &sent.Projection{Size: 8, Copies: fields}
	f.rows = []*sent.Rows{sent.NewOwn(own, &event.Stream{Label: "a"})}
	return f
}

// put writes a record of words, with flags in its header.
func (f *fake) put(flags uint32, words ...uint64) (header *uint32) {
	write := func(off uint64, v uint64) {
		binary.LittleEndian.PutUint64(f.Shared[4096+off&4095:], v)
		binary.LittleEndian.PutUint64(f.Shared[2*4096+off&4095:], v)
	}
	header = (*uint32)(unsafe.Pointer(&f.Shared[4096+f.at&4095]))
	write(f.at, uint64(flags|uint32(8*len(words))))
	for i, w := range words {
		write(f.at+8+8*uint64(i), w)
	}
	f.at += 8 + 8*uint64(len(words))
	f.words[0] = f.at
	return header
}

// all reads all visible records.
func (f *fake) all() (evs []event.Event) {
	f.look(false)
	evs = make([]event.Event, 100)
	return evs[:f.Read(evs, f.visible)]
}

func TestBufferRead(t *testing.T) {
	f := newFake(sent.Copy{From: 4, To: 2, Size: 2})
	loss := uint64(math.MaxUint64) // LossStream
	f.put(0, 5, 7<<32|9, 0, 0x1234<<32)
	f.put(ringbuf.Drop, 6, 0, 0, 0)
	f.put(0, 7, loss, loss, 3)
	f.put(0, 8, 0, 77, 0) // of no stream
	f.put(0, 9, 0, 0)     // too short for the field
	f.put(0, 10, 1<<32|2, 0, 0x5678<<32)
	f.index, f.cpu = 4, 3
	evs := f.all()
	if len(evs) != 3 || f.stat.Corrupt != 2 || f.stat.Lost != 3 || f.stat.Records != 3 || f.Pos() != f.at ||
		f.stat.Bytes != f.at {
		t.Fatalf("got %d events, %+v, want 3 and 2 corrupt", len(evs), f.stat)
	}
	if e := &evs[0]; e.Time != 5 || e.PID != 7 || e.TID != 9 || e.CPU != 3 || e.Ring != 4 ||
		e.Kind != event.Sample || e.Stream.Label != "a" ||
		string(e.Raw) != "\x00\x00\x34\x12\x00\x00\x00\x00" || len(e.Rec) != 32 {
		t.Errorf("got %+v", e)
	}
	if e := &evs[1]; e.Kind != event.Lost || e.Count != 3 || e.Time != 7 || e.Stream != nil {
		t.Errorf("got %+v, want 3 lost", e)
	}
	if e := &evs[2]; e.Time != 10 || e.TID != 2 || binary.LittleEndian.Uint16(e.Raw[2:]) != 0x5678 {
		t.Errorf("got %+v", e)
	}
	f.Release()
	if got := binary.LittleEndian.Uint64(f.Consumer); got != f.at {
		t.Errorf("got %d released, want %d", got, f.at)
	}
}

// TestBufferWraps checks that records go on at the beginning, also in the middle of one.
func TestBufferWraps(t *testing.T) {
	f := newFake(sent.Copy{To: 0, Size: 8})
	next := uint64(0)
	for range 50 {
		for range 30 {
			f.put(0, next, 0, 0, next)
			next++
		}
		for i, e := range f.all() {
			if want := next - 30 + uint64(i); e.Time != event.Time(want) ||
				binary.LittleEndian.Uint64(e.Raw) != want {
				t.Fatalf("got %d %x, want %d", e.Time, e.Raw, want)
			}
		}
		f.Release()
	}
	if f.stat.Records != next || f.stat.Corrupt != 0 {
		t.Errorf("got %+v, want %d records", f.stat, next)
	}
}

// The reader waits for a record that is being written; later records are not
// read before it.
func TestBufferBusy(t *testing.T) {
	f := newFake()
	header := f.put(ringbuf.Busy, 1, 0, 0)
	f.put(0, 2, 0, 0)
	time.AfterFunc(5*time.Millisecond, func() { atomic.StoreUint32(header, 24) })
	if evs := f.all(); len(evs) != 2 || evs[0].Time != 1 || evs[1].Time != 2 {
		t.Errorf("got %d events, want both in order", len(evs))
	}
}

// An impossible length ends the readable part.
func TestBufferCorrupt(t *testing.T) {
	for _, length := range []uint32{0, 8, 4000, ringbuf.Drop - 1} {
		f := newFake()
		f.put(0, 1, 0, 0)
		*f.put(0, 2, 0, 0) = length
		f.put(0, 3, 0, 0)
		if evs := f.all(); len(evs) != 1 || f.stat.Corrupt != 1 || f.Pos() != f.at {
			t.Errorf("length %d: got %d events, %+v, want one, and one corrupt", length, len(evs), f.stat)
		}
	}
}

// TestBufferLoss checks that losses that no record has reported yet make the buffer tight; they are
// reported at the end, once.
func TestBufferLoss(t *testing.T) {
	f := newFake()
	f.put(0, 1, 0, 0)
	f.untold = func() uint64 { return 5 }
	if evs := f.all(); len(evs) != 1 || !f.Tight() {
		t.Errorf("got %d events, tight %v, want one", len(evs), f.Tight())
	}
	f.final = 5
	for i := range 3 {
		evs := f.all()
		f.Release()
		if i > 0 && len(evs) > 0 ||
			i == 0 && (len(evs) != 1 || evs[0].Kind != event.Lost || evs[0].Count != 5) || f.Tight() {
			t.Errorf("time %d: got %+v, want the loss once", i, evs)
		}
	}
	if got := binary.LittleEndian.Uint64(f.Consumer); got != f.at || f.stat.Lost != 5 {
		t.Errorf("got %d released and %d lost, want %d and 5", got, f.stat.Lost, f.at)
	}
}
