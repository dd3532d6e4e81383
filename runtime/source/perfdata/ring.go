package perfdata

import (
	"unsafe"

	"ppscript/runtime/event"
)

// A fileRing is the whole recording in the order of the file. It is fast, and
// used for plans that do not depend on the order of events of different CPUs.
//
// Positions count bytes of records. There is only one ring and no order by
// time, so known and visible are equal.
type fileRing struct {
	f       *File
	runs    []run
	next    int // run to read from
	at      int // in that run
	pos     uint64
	visible uint64
}

func (r *fileRing) add(u run) {
	if u.buf != nil {
		u.buf.refs++
	} else if n := len(r.runs); n > r.next && r.runs[n-1].buf == nil && adjacent(r.runs[n-1].b, u.b) {
		// Extend the last run, since the two are adjacent in the mapping.
		last := &r.runs[n-1]
		last.b = unsafe.Slice(unsafe.SliceData(last.b), len(last.b)+len(u.b))
		r.visible += uint64(len(u.b))
		return
	}
	r.runs = append(r.runs, u)
	r.visible += uint64(len(u.b))
}

// adjacent reports that b begins at the end of a, in memory that stays valid.
func adjacent(a, b []byte) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(a)))+
		uintptr(len(a)) == uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}

// Bounds implements event.Ring.
func (r *fileRing) Bounds() (known, visible uint64) { return r.visible, r.visible }

// Pos implements event.Ring.
func (r *fileRing) Pos() uint64 { return r.pos }

// Read implements event.Ring.
//
// Fast path: scan guarantees that runs have whole records.
func (r *fileRing) Read(dst []event.Event, until uint64) int {
	until = min(until, r.visible)
	dec := r.f.dec
	n := 0
	for n < len(dst) && r.pos < until {
		b := r.runs[r.next].b
		at, from := r.at, r.at
		limit := int(min(uint64(len(b)), uint64(at)+until-r.pos))
		for n < len(dst) && at < limit {
			size := int(le.Uint16(b[at+6:]))
			e := &dst[n]
			if dec.Decode(b[at:at+size:at+size], e) {
				e.Ring = 0
				if e.CPU < 0 && r.f.idCPU != nil {
					e.CPU = r.f.cpuOf(e)
				}
				n++
			} else {
				r.f.loss.Truncated++
			}
			at += size
		}
		r.at = at
		r.pos += uint64(at - from)
		if at == len(b) {
			r.next++
			r.at = 0
		}
	}
	return n
}

// Release implements event.Ring.
func (r *fileRing) Release() {
	for _, u := range r.runs[:r.next] {
		if u.buf != nil {
			r.f.pool.unref(u.buf)
		}
	}
	r.runs = r.runs[:copy(r.runs, r.runs[r.next:])]
	r.next = 0
	if m, ok := r.f.in.(*mappedInput); ok && !r.f.copied() {
		off := m.at
		if len(r.runs) > 0 {
			off = offsetIn(m.memory(), r.runs[0].b) + r.at
		}
		m.done(off)
	}
}

// offsetIn returns the offset of part in whole.
func offsetIn(whole, part []byte) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(part))) -
		uintptr(unsafe.Pointer(unsafe.SliceData(whole))))
}

// skip releases all visible records without reading them.
func (r *fileRing) skip() {
	r.next, r.at, r.pos = len(r.runs), 0, r.visible
	r.Release()
}

func (r *fileRing) drop() {
	r.runs, r.next, r.at = nil, 0, 0
	r.pos = r.visible
}

// cpuOf returns the CPU on which the event with the record's id was opened, -1
// if unknown.
//
// Slow path: only for samples without PERF_SAMPLE_CPU.
func (f *File) cpuOf(e *event.Event) int32 {
	var id uint64
	if e.Kind == event.Sample {
		id, _ = e.Stream.Members.Member(e, event.MemberID)
	} else {
		sid, _ := f.common.SampleID(e.Rec)
		id = sid.ID
	}
	if cpu, ok := f.idCPU[id]; ok {
		return cpu
	}
	return -1
}
