package perfdata

import (
	"golang.org/x/sys/unix"

	"ppscript/runtime/source/perf"
)

// This file makes samples of groups that were recorded with leader sampling
// ({a,b}:S): only the leader a was sampled, and each of its samples has the values
// of all counters of the group. The difference to the sample before becomes a
// sample of each counter, with the difference as its period; a counter that
// counted nothing has none (deliver_sample_group in tools/perf/util/session.c does
// the same).
//
// Such records are written anew, with the id of their event and its period, and
// without the values: their reader sees samples as any others.
// The raw data are the leader's; members have none, and so no fields of their own.
//
// Tempting and wrong: to make them when the rings are read. By then records are in
// order of time, where those of one counter may come from rings of several CPUs;
// in the file they are in the order in which the counter was read.

// counterEvent is an event whose samples bring the values of counters.
type counterEvent struct {
	layout  *perf.Layout // as recorded
	leader  bool         // its samples are of it alone: they keep their raw data
	inherit bool         // each thread has a counter of its own, with the same id
}

// A countedKey is one counter.
type countedKey struct {
	id  uint64
	tid int32
}

// A splitter makes one sample for each counter of a sample.
type splitter struct {
	pool     *pool
	events   []*counterEvent // by attr; nil for attrs that bring no values
	byID     map[uint64]int
	place    int // of the id in a sample; 0: there is none
	readings []perf.Reading
	last     map[countedKey]uint64 // values, at the sample before
	damaged  uint64                // samples that could not be split

	// Of the run that is written.
	emit func([]byte, *buffer)
	buf  *buffer
}

// splitCounters has the samples of groups split, and describes their events as
// they look then. It is called before the events are opened.
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

// eventOf is the event that a sample is of; nil if its samples bring no values.
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

// run writes a run anew and hands it on, in pieces that fit into buffers.
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

// fit makes room for n bytes, at most those of a record.
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

// sample appends a sample of each counter that counted something. False means
// that the record is damaged.
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
