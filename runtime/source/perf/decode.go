package perf

import (
	"bytes"
	"math"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// A Decoder converts the records of one ring, or of one file, to events. It
// finds the stream of a sample by its id, and decodes it with that stream's
// layout. It is used by one goroutine.
type Decoder struct {
	only   entry   // the single stream, if records have no id
	stray  entry   // the stream for samples of unknown ids, see strays
	table  []entry // open addressing; len is a power of two
	used   int
	common *Layout // for records that are not samples
	idOff  int     // offset of the id in a sample, 0 if samples have none

	prev event.Time // the last time, for records without a time

	// shared is the layout of all streams, if they have the same one, it is
	// plain, and it has a time: then samples can be read in bursts.
	shared *Layout

	// aside says that all records are side records, not events of the run.
	aside bool
}

// lostKind returns the kind of events for LOST records.
func (d *Decoder) lostKind() event.RecordKind {
	if d.aside {
		return event.LostAside
	}
	return event.Lost
}

type entry struct {
	id     uint64
	stream *event.Stream
	layout *Layout
}

// NewDecoder makes a Decoder for records with ids at the offset in common. All
// layouts added later must have the same offset of the id and the same
// SampleID, as the kernel requires for a ring with several events.
func NewDecoder(common *Layout) *Decoder {
	d := &Decoder{common: common, idOff: common.id}
	if d.idOff == 0 {
		d.idOff = common.id2
	}
	return d
}

// Add adds a stream: samples with this id belong to stream and have layout l.
// If records have no id, the last added stream gets all of them.
func (d *Decoder) Add(id uint64, stream *event.Stream, l *Layout) {
	d.share(l)
	d.only = entry{id: id, stream: stream, layout: l}
	if d.idOff == 0 {
		return
	}
	d.strays(d.only)
	if (d.used+1)*2 > len(d.table) {
		old := d.table
		d.table, d.used = make([]entry, max(8, 2*len(old))), 0
		for _, e := range old {
			if e.stream != nil {
				d.insert(e)
			}
		}
	}
	d.insert(d.only)
}

// strays chooses the stream for samples of unknown ids. The kernel delivers a hit
// of a software event (a page fault, a switch) to all events that count it, one
// after the other, with the data that it prepared for the first one. So all of
// them get the id of the first, which may belong to another process (since Linux
// 6.3). If only one stream of this decoder can have such samples, they belong to
// it.
func (d *Decoder) strays(e entry) {
	switch s := e.stream.Schema; {
	case s == nil || s.System != "software" || slices.Contains(timers, s.Name):
	case d.stray.stream == nil || d.stray.stream == e.stream:
		d.stray = e
	default:
		d.stray.layout = nil // ambiguous
	}
}

// timers are software events that do not have this problem.
var timers = []string{"cpu-clock", "task-clock", "dummy", "bpf-output"}

func (d *Decoder) share(l *Layout) {
	switch {
	case d.only.layout == nil && l.plain && l.time != 0:
		d.shared = l
	case d.shared != nil && d.shared.Format != l.Format:
		d.shared = nil
	}
}

// hash distributes ids. Ids of live events are consecutive, ids of a file may
// be any numbers.
func hash(id uint64) uint64 { return (id * 0x9e3779b97f4a7c15) >> 32 }

func (d *Decoder) insert(e entry) {
	mask := uint64(len(d.table) - 1)
	for i := hash(e.id) & mask; ; i = (i + 1) & mask {
		switch {
		case d.table[i].stream == nil:
			d.used++
			d.table[i] = e
			return
		case d.table[i].id == e.id:
			d.table[i] = e
			return
		}
	}
}

// find searches the table from the slot of id; nil if id is not in it.
func (d *Decoder) find(id uint64) *entry {
	if len(d.table) == 0 {
		return nil
	}
	mask := uint64(len(d.table) - 1)
	for i := hash(id) & mask; d.table[i].stream != nil; i = (i + 1) & mask {
		if d.table[i].id == id {
			return &d.table[i]
		}
	}
	return nil
}

// Decode sets e from rec, one whole record; it sets every member except Ring.
// It returns false if the record is corrupt, or a sample of an unknown stream;
// the caller counts it. The event is a view of rec.
//
// Fast path: this runs for every record.
func (d *Decoder) Decode(rec []byte, e *event.Event) bool {
	if len(rec) < headerSize {
		return false
	}
	p := unsafe.Pointer(unsafe.SliceData(rec))
	if load32(p, 0) != unix.PERF_RECORD_SAMPLE {
		return d.other(rec, e)
	}
	ent := &d.only
	if d.idOff != 0 {
		if len(rec) < d.idOff+8 || len(d.table) == 0 {
			return false
		}
		id := load64(p, d.idOff)
		// An empty entry has no layout, which is checked below.
		if ent = &d.table[hash(id)&uint64(len(d.table)-1)]; ent.id != id {
			if ent = d.find(id); ent == nil {
				ent = &d.stray
			}
		}
	}
	l := ent.layout
	if l == nil || !l.sample(rec, e, ent.stream) {
		return false
	}
	if l.time == 0 {
		e.Time = d.prev
	} else {
		d.prev = e.Time
	}
	return true
}

// other decodes records that are not samples.
//
// Slow path: such records are rare.
func (d *Decoder) other(rec []byte, e *event.Event) bool {
	if !d.common.record(rec, e) {
		return false
	}
	if e.Time == 0 {
		e.Time = d.prev
	} else {
		d.prev = e.Time
	}
	return true
}

// count sets the number of lost events from the u64 at off.
func count(body []byte, off int, e *event.Event) bool {
	if len(body) < off+8 {
		return false
	}
	e.Count = uint32(min(le64(body, off), math.MaxUint32))
	return true
}

// record sets e from a record that is not a sample. PID and TID are the subject
// of the record if it has one (the new thread of a fork, the renamed thread of
// a comm), else the thread that ran. Time is 0 if the record has none.
func (l *Layout) record(rec []byte, e *event.Event) bool {
	if len(rec) < headerSize {
		return false
	}
	whole := rec
	rec = l.written(rec)
	l.fill(rec, e)
	e.Rec = whole
	body := l.body(rec)
	switch le32(rec, 0) {
	case unix.PERF_RECORD_LOST:
		e.Kind = event.Lost
		return count(body, 8, e)
	case unix.PERF_RECORD_LOST_SAMPLES:
		e.Kind = event.Lost
		return count(body, 0, e)
	case unix.PERF_RECORD_COMM:
		e.Kind = event.Comm
		return subject(body, 0, 4, e)
	case unix.PERF_RECORD_FORK, unix.PERF_RECORD_EXIT:
		e.Kind = event.Fork
		if le32(rec, 0) == unix.PERF_RECORD_EXIT {
			e.Kind = event.Exit
		}
		if len(body) < 24 {
			return false
		}
		if e.Time == 0 {
			e.Time = event.Time(le64(body, 16))
		}
		return subject(body, 0, 8, e)
	case unix.PERF_RECORD_MMAP, unix.PERF_RECORD_MMAP2:
		e.Kind = event.Mmap
		return len(body) >= 32 && subject(body, 0, 4, e)
	case unix.PERF_RECORD_THROTTLE, unix.PERF_RECORD_UNTHROTTLE:
		e.Kind = event.Throttle
		if le32(rec, 0) == unix.PERF_RECORD_UNTHROTTLE {
			e.Kind = event.Unthrottle
		}
		if len(body) < 24 {
			return false
		}
		if e.Time == 0 {
			e.Time = event.Time(le64(body, 0))
		}
	case unix.PERF_RECORD_SWITCH:
		e.Kind = event.Switch
	case unix.PERF_RECORD_SWITCH_CPU_WIDE:
		e.Kind = event.Switch
		return len(body) >= 8
	default:
		e.Kind = event.Other
	}
	return true
}

// written returns the part of a record that the kernel wrote. For records about loaded
// code, a bug in the kernel makes the size in the header too large: the size of the trailer
// is added once for each event, of any process, that gets the record
// (perf_event_ksymbol_output and perf_event_bpf_output in kernel/events/core.c, seen in
// Linux 6.18). So old bytes of the ring follow the trailer. A reader that expects the
// trailer at the end would read these bytes as the time, perhaps years ahead, and all later
// records would be late.
func (l *Layout) written(rec []byte) []byte {
	const fixed = headerSize + 16
	n := len(rec)
	switch le32(rec, 0) {
	case unix.PERF_RECORD_KSYMBOL:
		if n > fixed {
			if name := bytes.IndexByte(rec[fixed:], 0); name >= 0 {
				n = fixed + (name+1+7)&^7 + l.trailer
			}
		}
	case unix.PERF_RECORD_BPF_EVENT:
		n = fixed + l.trailer
	}
	return rec[:min(n, len(rec))]
}

// subject reads the pid and tid from a record's body.
func subject(body []byte, pid, tid int, e *event.Event) bool {
	if len(body) < pid+4 || len(body) < tid+4 {
		return false
	}
	e.PID, e.TID = int32(le32(body, pid)), int32(le32(body, tid))
	return true
}
