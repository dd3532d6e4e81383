package perfdata

import (
	"golang.org/x/sys/unix"

	"ppscript/runtime/source/perf"
)

// This file handles groups of counters that were recorded with leader sampling
// ({a,b}:S): only the leader a was sampled, and each of its samples has the values
// of all counters of the group. For each counter whose value has changed since the
// previous sample, a sample is made, with the difference as its period (like
// deliver_sample_group in tools/perf/util/session.c).
//
// These samples are new records with the id and period of their event, and without
// the values, so that they are read like other samples. Only the leader's samples
// have raw data; the samples of other members of the group have no fields of their
// own.
//
// It would be wrong to make them when the rings are read. Then the records are
// sorted by time, and the records of one counter may be in the rings of several
// CPUs. In the file they are in the order in which the counter was read.

// counterEvent is an event whose samples have the values of counters.
type counterEvent struct {
	layout  *perf.Layout // as recorded
	leader  bool         // the samples are of the leader, and keep their raw data
	inherit bool         // each thread has its own counter, with the same id
}

// A countedKey identifies a counter.
type countedKey struct {
	id  uint64
	tid int32
}

// A splitter makes a sample for each counter in a sample.
type splitter struct {
	pool     *pool
	events   []*counterEvent // by attr; nil for attrs whose samples have no values
	byID     map[uint64]int
	place    int // offset of the id in a sample; 0 without ids
	readings []perf.Reading
	last     map[countedKey]uint64 // values at the previous sample
	damaged  uint64                // samples that could not be split

	// For the run that is being written.
	emit func([]byte, *buffer)
	buf  *buffer
}

// splitCounters sets up the splitter if samples have values of counters, and
// changes the attrs to describe the new samples. It is called before the
// streams are made.
func (f *File) splitCounters() {
	events := make([]*counterEvent, len(f.attrs))
	any, place := false, 0
	for i := range f.attrs {
		a := &f.attrs[i]
		format := perf.FormatOf(&a.PerfEventAttr)
		l := perf.NewLayout(format)
		if !l.Reads() {
			continue
		}
		any, place = true, l.IDOffset()
		member := a.Sample == 0 && format.ReadFormat&unix.PERF_FORMAT_GROUP != 0
		events[i] = &counterEvent{layout: l, leader: !member, inherit: a.Bits&unix.PerfBitInherit != 0}
		a.Sample_type, a.Read_format = format.Counted(!member).SampleType, 0
		a.counter = member
	}
	if !any {
		return
	}
	s := &splitter{
		pool:   &f.pool,
		events: events,
		byID:   map[uint64]int{},
		place:  place,
		last:   map[countedKey]uint64{},
	}
	for i := range f.attrs {
		for _, id := range f.attrs[i].ids {
			s.byID[id] = i
		}
	}
	f.out.split = s
}

// eventOf returns the event of a sample; nil if the event's samples have no
// values.
func (s *splitter) eventOf(rec []byte) *counterEvent {
	if s.place == 0 || len(s.byID) == 0 {
		return s.events[0]
	}
	if len(rec) < s.place+8 {
		return nil
	}
	i, ok := s.byID[le.Uint64(rec[s.place:])]
	if !ok {
		return nil
	}
	return s.events[i]
}

// run writes a run with the new samples, and emits it in pieces that fit into
// buffers.
func (s *splitter) run(b []byte, emit func([]byte, *buffer)) {
	s.emit, s.buf = emit, s.pool.get(bufferSize)
	for len(b) > 0 {
		size := int(le.Uint16(b[6:]))
		rec := b[:size:size]
		b = b[size:]
		var e *counterEvent
		if le.Uint32(rec) == unix.PERF_RECORD_SAMPLE {
			e = s.eventOf(rec)
		}
		if e == nil {
			s.fit(size)
			s.buf.b = append(s.buf.b, rec...)
		} else if !s.sample(e, rec) {
			s.damaged++
		}
	}
	s.flush()
	s.buf = nil
}

// fit makes room for n bytes, at most the size of a record.
func (s *splitter) fit(n int) {
	if cap(s.buf.b)-len(s.buf.b) < n {
		s.flush()
		s.buf = s.pool.get(bufferSize)
	}
}

func (s *splitter) flush() {
	if len(s.buf.b) > 0 {
		s.emit(s.buf.b, s.buf)
	}
	s.pool.unref(s.buf)
}

// sample appends a sample for each counter whose value has changed; false if
// the record is damaged.
func (s *splitter) sample(e *counterEvent, rec []byte) (ok bool) {
	if s.readings, ok = e.layout.Readings(s.readings[:0], rec); !ok {
		return false
	}
	tid := int32(0)
	if e.inherit {
		tid = e.layout.TID(rec)
	}
	for _, r := range s.readings {
		i, known := s.byID[r.ID]
		switch {
		case !known && len(s.byID) > 0:
			return false
		case s.events[i] == nil:
			return false
		}
		key := countedKey{r.ID, tid}
		period := r.Value - s.last[key]
		s.last[key] = r.Value
		if period == 0 {
			continue
		}
		s.fit(len(rec) + 8)
		if s.buf.b, ok = e.layout.AppendCounted(s.buf.b, rec, r.ID, period, s.events[i].leader); !ok {
			return false
		}
	}
	return true
}
