package flightbuffer

import (
	"encoding/binary"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/record/sent"
)

// A writer writes as programs do.
type writer struct {
	*Window
	t *testing.T
}

const countSize = 64

func newWriter(t *testing.T, cpus, records int) *writer {
	schema := &event.Schema{System: "test", Name: "number", ID: 7, Size: 16, Fields: []event.Field{
		{Name: "value", Offset: 8, Size: 8, Place: event.InRaw}}}
	kept := &sent.KeptLayout{Records: records, Size: sent.KeptSize + 8, Inputs: [][]sent.Column{nil,
		{{Of: &expr.Field{F: &schema.Fields[0]}, Off: sent.KeptSize, Size: 8}}}}
	streams := []*event.Stream{nil, {Index: 1, Schema: schema}}
	w := &Window{
		cfg:    Config{CPUs: cpus, Layout: kept, Streams: streams, CountSize: countSize},
		counts: make([]byte, cpus*countSize), slots: make([]byte, cpus*records*kept.Size),
		reader: sent.NewKeptReader(kept, streams),
	}
	return &writer{w, t}
}

// begin takes a number.
func (w *writer) begin(cpu int) (n uint64) {
	at := w.counts[cpu*countSize:]
	n = binary.LittleEndian.Uint64(at)
	binary.LittleEndian.PutUint64(at, n+1)
	return n
}

func (w *writer) end(cpu int, n uint64, at event.Time) {
	put, slot := binary.LittleEndian.PutUint64, w.slot(cpu, n)
	put(slot[sent.KeptTime:], uint64(at))
	put(slot[sent.KeptTask:], 5<<32|6)
	put(slot[sent.KeptContext:], 3<<sent.ContextFlags|2<<sent.ContextPreempt|2)
	put(slot[sent.KeptSize:], 1000+uint64(at))
	put(slot[sent.KeptMark:], n+1)
}

func (w *writer) write(cpu int, at event.Time) { w.end(cpu, w.begin(cpu), at) }

// read compares the times of the events, and since when they are complete.
func (w *writer) read(from event.Time, since event.Time, want ...event.Time) {
	w.t.Helper()
	defer w.Release()
	evs, got := w.Of(0).Read(from)
	if got != since {
		w.t.Errorf("since: got %d, want %d", got, since)
	}
	var times []event.Time
	for i := range evs {
		e := &evs[i]
		times = append(times, e.Time)
		if v := binary.LittleEndian.Uint64(e.Raw[8:]); v != 1000+uint64(e.Time) || e.PID != 5 || e.TID != 6 {
			w.t.Errorf("event %d: got value %d of %d/%d", e.Time, v, e.PID, e.TID)
		}
		if e.Raw[0] != 7 || e.Raw[2] != 3 || e.Raw[3] != 2 || e.Raw[4] != 6 {
			w.t.Errorf("common fields: got %v", e.Raw[:8])
		}
	}
	if len(times) != len(want) {
		w.t.Fatalf("got events at %v, want %v", times, want)
	}
	for i := range want {
		if times[i] != want[i] {
			w.t.Fatalf("got events at %v, want %v", times, want)
		}
	}
}

const ms = event.Time(1e6)

func TestEventsOfAllCPUsComeInOrder(t *testing.T) {
	w := newWriter(t, 2, 4)
	w.read(0, 0)
	w.write(1, 10*ms)
	w.write(0, 20*ms)
	w.write(1, 30*ms)
	w.read(0, 0, 10*ms, 20*ms, 30*ms)
	w.read(25*ms, 0, 30*ms)
}

func TestOverwrittenEventsAreTold(t *testing.T) {
	w := newWriter(t, 2, 4)
	for i := range 6 {
		w.write(0, event.Time(i+1)*10*ms)
	}
	w.write(1, 15*ms)
	w.read(0, 30*ms, 15*ms, 30*ms, 40*ms, 50*ms, 60*ms)
	// Nothing is missing from a time on that the memory still reaches back to.
	w.read(35*ms, 0, 40*ms, 50*ms, 60*ms)
}

func TestEventsThatAreBeingWrittenAreTold(t *testing.T) {
	w := newWriter(t, 1, 4)
	w.write(0, 10*ms)
	n := w.begin(0)
	w.write(0, 30*ms)
	w.read(0, 30*ms, 10*ms, 30*ms)
	w.end(0, n, 20*ms)
	w.read(0, 0, 10*ms, 20*ms, 30*ms)
}

// TestEventsWithoutFields checks that events without fields are kept as well: page faults, as perf
// counts them, have none.
func TestEventsWithoutFields(t *testing.T) {
	schema := &event.Schema{System: "software", Name: "minor-faults"}
	columns := [][]sent.Column{sent.Moved(nil, sent.KeptSize)}
	kept := &sent.KeptLayout{Records: 2, Size: sent.KeptSize, Inputs: columns}
	reader := sent.NewKeptReader(kept, []*event.Stream{{Schema: schema}})
	rec, put := make([]byte, sent.KeptSize), binary.LittleEndian.PutUint64
	put(rec[sent.KeptTime:], 20)
	put(rec[sent.KeptTask:], 5<<32|6)
	put(rec[sent.KeptContext:], 1)
	var e event.Event
	if !reader.Show(&e, 3, rec) || e.Time != 20 || e.TID != 6 || e.CPU != 3 || e.Stream.Schema != schema {
		t.Errorf("got %+v, want the event of thread 6 at 20", e)
	}
}
