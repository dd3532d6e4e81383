package perf

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

func le64(b []byte, off int) uint64 { return binary.LittleEndian.Uint64(b[off:]) }
func le32(b []byte, off int) uint32 { return binary.LittleEndian.Uint32(b[off:]) }

// Sample sets e from rec, a whole PERF_RECORD_SAMPLE; it sets every member
// except Ring, and Stream to nil. It returns false if the record does not fit
// the layout; e is then undefined. The event is a view of rec.
func (l *Layout) Sample(rec []byte, e *event.Event) bool { return l.sample(rec, e, nil) }

// sample is Sample for a stream.
//
// Fast path: this runs for every sample.
func (l *Layout) sample(rec []byte, e *event.Event, stream *event.Stream) bool {
	if len(rec) < l.least {
		return false
	}
	// All fixed members are before least, so the loads need no bounds checks.
	p := unsafe.Pointer(unsafe.SliceData(rec))
	e.Time = event.Time(load64(p, l.time) & l.timeAnd)
	who := load64(p, l.tid) | l.tidOr
	e.PID, e.TID = int32(who), int32(who>>32)
	e.CPU = int32(load32(p, l.cpu) | l.cpuOr)
	e.Kind = event.Sample
	var raw []byte
	if l.plain && l.raw {
		// The size includes the padding that aligns the record to 8 bytes.
		off := l.fixed + 4
		n := int(load32(p, l.fixed))
		if n > len(rec)-off {
			return false
		}
		raw = rec[off : off+n : off+n]
	} else if !l.plain {
		var ok bool
		if raw, ok = l.moving(rec); !ok {
			return false
		}
	}
	// Pointers last and together: one write barrier check for all.
	e.Stream, e.Raw, e.Rec, e.Derived = stream, raw, rec, nil
	return true
}

func load64(p unsafe.Pointer, off int) uint64 { return *(*uint64)(unsafe.Add(p, off)) }
func load32(p unsafe.Pointer, off int) uint32 { return *(*uint32)(unsafe.Add(p, off)) }

// moving finds the raw data after members of variable size.
func (l *Layout) moving(rec []byte) (raw []byte, ok bool) {
	off := l.fixed
	if l.read != 0 && l.ReadFormat&unix.PERF_FORMAT_GROUP != 0 {
		size, ok := groupSize(l.ReadFormat, le64(rec, l.read))
		if !ok || size > len(rec)-l.read {
			return nil, false
		}
		off = l.read + size
	}
	if l.chain {
		if len(rec)-off < 8 {
			return nil, false
		}
		n := le64(rec, off)
		off += 8
		if n > uint64(len(rec)-off)/8 {
			return nil, false
		}
		off += int(n) * 8
	}
	if !l.raw {
		return nil, true
	}
	if len(rec)-off < 4 {
		return nil, false
	}
	n := uint(le32(rec, off))
	off += 4
	if n > uint(len(rec)-off) {
		return nil, false
	}
	return rec[off : off+int(n) : off+int(n)], true
}

// fill is like Sample for other records: time, thread and CPU are read from the
// SampleID if there is one.
func (l *Layout) fill(rec []byte, e *event.Event) {
	id, _ := l.SampleID(rec)
	e.Derived, e.Rec, e.Raw, e.Stream, e.Count = nil, rec, nil, nil, 0
	e.Time, e.PID, e.TID, e.CPU = id.Time, id.PID, id.TID, id.CPU
}

// A SampleID is the trailer that sample_id_all adds to records that are not
// samples. PID, TID and CPU are -1, the others 0, if absent.
type SampleID struct {
	Time     event.Time
	ID       uint64 // id of the event to whose ring the record was written
	StreamID uint64
	PID, TID int32 // the thread that ran; not the subject of the record
	CPU      int32
}

// SampleID reads the trailer of a record that is not a sample; false if there
// is none.
func (l *Layout) SampleID(rec []byte) (SampleID, bool) {
	id := SampleID{PID: -1, TID: -1, CPU: -1}
	end := len(rec)
	if l.trailer == 0 || end < headerSize+l.trailer {
		return id, false
	}
	if l.endTID != 0 {
		v := le64(rec, end-l.endTID)
		id.PID, id.TID = int32(v), int32(v>>32)
	}
	if l.endTime != 0 {
		id.Time = event.Time(le64(rec, end-l.endTime))
	}
	if l.endStream != 0 {
		id.StreamID = le64(rec, end-l.endStream)
	}
	if l.endCPU != 0 {
		id.CPU = int32(le32(rec, end-l.endCPU))
	}
	switch {
	case l.endIdent != 0:
		id.ID = le64(rec, end-l.endIdent)
	case l.endID != 0:
		id.ID = le64(rec, end-l.endID)
	}
	return id, true
}

// body is the part of a record between header and SampleID; nil if the record
// is too short for both.
func (l *Layout) body(rec []byte) []byte {
	if len(rec) < headerSize+l.trailer {
		return nil
	}
	return rec[headerSize : len(rec)-l.trailer]
}
