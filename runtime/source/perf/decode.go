package perf

import (
	"bytes"
	"math"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// A Decoder turns the records of one ring, or of one file, into events: it
// finds the stream of a sample by its id, and reads it with that stream's
// layout. It is used by one goroutine.
type Decoder struct {
	only   entry   // the single stream, if records carry no id
	stray  entry   // gets samples of unknown ids, see strays
	table  []entry // open addressing; len is a power of two
	used   int
	common *Layout // for records that are not samples
	idOff  int     // of the id in a sample, 0 if samples carry none

	prev event.Time // for records without a time of their own

	// shared is the one layout of all streams, if it is plain and has a time:
	// then samples can be read in bursts.
	shared *Layout

	// aside says that no record is an event of the run.
	aside bool
}

// lostKind is the kind of records that tell of a loss.
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

// NewDecoder makes a Decoder for records whose ids are where common says. All
// layouts added later must agree with common on the place of the id and on
// the SampleID, as the kernel requires of a ring with several events.
func NewDecoder(common *Layout) *Decoder {
	d := &Decoder{common: common, idOff: common.id}
	if d.idOff == 0 {
		d.idOff = common.id2
	}
	return d
}

// Add says that samples with this id belong to stream and are laid out by l.
// If records carry no id, the last stream added gets all of them.
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

// strays decides which stream samples of unknown ids belong to. The kernel hands
// a hit of a software event (a page fault, a switch) to all events that count it,
// one after the other, with the data that it prepared for the first one. So all
// of them get the first one's id, which may be of another program that observes
// the same event (since Linux 6.3). If one stream here can have such samples,
// they are its own.
func (d *Decoder) strays(e entry) {
	switch s := e.stream.Schema; {
	case s == nil || s.System != "software" || slices.Contains(timers, s.Name):
	case d.stray.stream == nil || d.stray.stream == e.stream:
		d.stray = e
	default:
		d.stray.layout = nil // nobody knows
	}
}

// timers are events of the software that are sampled one by one.
var timers = []string{"cpu-clock", "task-clock", "dummy", "bpf-output"}

func (d *Decoder) share(l *Layout) {
	switch {
	case d.only.layout == nil && l.plain && l.time != 0:
		d.shared = l
	case d.shared != nil && d.shared.Format != l.Format:
		d.shared = nil
	}
}

// hash spreads ids; live ones are consecutive numbers, those of a file may be
// anything.
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

// find walks the table from where id should be; nil if it is not there.
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

// Decode fills e from rec, one whole record, and sets every member but Ring.
// False means that the record is corrupt, or a sample of no known stream; the
// caller counts it. The event views rec.
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
		// An empty entry has no layout, which is seen below.
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

// count sets how many events a loss is about, from the number at off.
func count(body []byte, off int, e *event.Event) bool {
	if len(body) < off+8 {
		return false
	}
	e.Count = uint32(min(le64(body, off), math.MaxUint32))
	return true
}

// record fills e from a record that is not a sample. PID and TID are the
// subject of the record where it has one (the new thread of a fork, the
// renamed one of a comm), else the thread that ran. Time is 0 if the record
// has none.
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

// written is the part of a record that the kernel wrote. For records about loaded
// code it adds the size of a trailer to that of the header, once for each event
// that gets the record, whichever process opened it, and does not take it back for the next
// (perf_event_ksymbol_output and perf_event_bpf_output in kernel/events/core.c,
// seen in Linux 6.18): behind our trailer are old bytes of the ring. A reader
// that looks for the trailer at the end of the record takes these bytes for the
// time; it may be years ahead, and all later records then count as late.
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

// subject reads the pid and tid of a record's own body.
func subject(body []byte, pid, tid int, e *event.Event) bool {
	if len(body) < pid+4 || len(body) < tid+4 {
		return false
	}
	e.PID, e.TID = int32(le32(body, pid)), int32(le32(body, tid))
	return true
}
