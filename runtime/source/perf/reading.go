package perf

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// This file reads samples with values of counters (PERF_SAMPLE_READ), of the
// event itself or of a whole group. Package perfdata makes samples from the
// differences of these values, and removes the values from the samples.

// A Reading is the value that a counter had when a sample was taken.
type Reading struct{ ID, Value uint64 }

// Reads reports that samples have values of counters.
func (l *Layout) Reads() bool { return l.read != 0 }

// Readings appends the counters of a sample, the leader of a group first; false
// if the record is damaged, or has values without ids.
func (l *Layout) Readings(dst []Reading, rec []byte) ([]Reading, bool) {
	if l.read == 0 || len(rec) < l.fixed {
		return dst, false
	}
	const once = unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING
	times := readSize(l.ReadFormat&once) - 8
	if l.ReadFormat&unix.PERF_FORMAT_GROUP == 0 {
		id := uint64(0)
		switch {
		case l.ReadFormat&unix.PERF_FORMAT_ID != 0:
			id = le64(rec, l.read+8+times)
		case l.id != 0:
			id = le64(rec, l.id)
		case l.id2 != 0:
			id = le64(rec, l.id2)
		}
		return append(dst, Reading{id, le64(rec, l.read)}), true
	}
	n := le64(rec, l.read)
	size, ok := groupSize(l.ReadFormat, n)
	if !ok || len(rec) < l.read+size || l.ReadFormat&unix.PERF_FORMAT_ID == 0 {
		return dst, false
	}
	at := l.read + 8 + times
	each := readSize(l.ReadFormat &^ once)
	for range n {
		dst = append(dst, Reading{ID: le64(rec, at+8), Value: le64(rec, at)})
		at += each
	}
	return dst, true
}

// IDOffset returns the offset of the id in samples; 0 if they have none.
func (l *Layout) IDOffset() int {
	if l.id != 0 {
		return l.id
	}
	return l.id2
}

// TID returns the thread of a sample; -1 if the sample is too short or has no
// thread.
func (l *Layout) TID(rec []byte) int32 {
	if l.tid == 0 || len(rec) < l.fixed {
		return -1
	}
	return int32(le32(rec, l.tid+4))
}

// Counted returns the format of the samples that AppendCounted makes from
// samples with format f.
func (f Format) Counted(raw bool) Format {
	f.SampleType = f.SampleType&^unix.PERF_SAMPLE_READ | unix.PERF_SAMPLE_PERIOD
	f.ReadFormat = 0
	if !raw {
		f.SampleType &^= unix.PERF_SAMPLE_RAW
	}
	return f
}

// AppendCounted converts rec to a sample of the counter id, with period as the
// period, and appends it to dst. The new sample has no values of counters, and
// raw data only if raw is set. If the record is damaged, it returns false and dst
// unchanged.
func (l *Layout) AppendCounted(dst, rec []byte, id, period uint64, raw bool) ([]byte, bool) {
	if len(rec) < l.fixed || l.read == 0 {
		return dst, false
	}
	begin, tail := len(dst), l.read
	if l.ReadFormat&unix.PERF_FORMAT_GROUP == 0 {
		tail += readSize(l.ReadFormat)
	} else {
		size, ok := groupSize(l.ReadFormat, le64(rec, l.read))
		if !ok {
			return dst, false
		}
		tail += size
	}
	upTo := l.read
	if l.period != 0 {
		upTo = l.period
	}
	dst = append(dst, rec[:upTo]...)
	dst = binary.LittleEndian.AppendUint64(dst, period)
	for _, at := range []int{l.id, l.id2} {
		if at != 0 {
			binary.LittleEndian.PutUint64(dst[begin+at:], id)
		}
	}
	rawAt, rawEnd, ok := l.rawIn(rec, tail)
	if !ok {
		return dst[:begin], false
	}
	if raw {
		rawEnd = rawAt
	}
	dst = append(append(dst, rec[tail:rawAt]...), rec[rawEnd:]...)
	binary.LittleEndian.PutUint16(dst[begin+6:], uint16(len(dst)-begin))
	return dst, true
}

// rawIn returns the offsets of the raw data in a sample whose callchain is at
// offset at.
func (l *Layout) rawIn(rec []byte, at int) (begin, end int, ok bool) {
	if at > len(rec) {
		return 0, 0, false
	}
	if l.chain {
		if len(rec)-at < 8 || le64(rec, at) > uint64(len(rec)-at-8)/8 {
			return 0, 0, false
		}
		at += 8 + 8*int(le64(rec, at))
	}
	if !l.raw {
		return at, at, true
	}
	if len(rec)-at < 4 || uint64(le32(rec, at)) > uint64(len(rec)-at-4) {
		return 0, 0, false
	}
	return at, at + 4 + int(le32(rec, at)), true
}
