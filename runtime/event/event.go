package event

// RecordKind is the kind of an Event: a sample of a stream, or one of
// the records that the kernel adds beside the samples.
type RecordKind uint8

const (
	Sample   RecordKind = iota
	Lost                // Count events of the ring were lost before this record
	Comm                // a thread has a new name; decoded by DecodeComm of runtime/source/perf
	Fork                // a thread or process was created; decoded by DecodeFork there
	Exit                // a thread ended; decoded by DecodeExit
	Mmap                // a file or memory was mapped; decoded by DecodeMmap
	Throttle            // the kernel paused the event; Unthrottle ends the pause
	Unthrottle
	Switch
	// LostAside says that Count records were lost in a ring without samples. No event of
	// the run is among them; records of threads and mappings may be.
	LostAside
	Other // a record of another type; Rec holds it
)

// An Event is a view of one record in ring or file memory. It is valid until
// its ring is released; a caller that keeps a value copies it (see Keep).
//
// Fast path: sources fill an array of Events in place, so the struct holds only
// the members that nearly every plan reads. The rest stays in Rec, from where
// Stream.Members fetches it on demand.
type Event struct {
	Time    Time
	Stream  *Stream  // nil unless Kind is Sample
	Raw     []byte   // the tracepoint record; empty for events without one
	Rec     []byte   // the whole perf record with its header; nil if synthetic
	Derived *Derived // parts and computed values; nil for plain samples
	PID     int32    // thread group; -1 if unknown
	TID     int32    // thread; -1 if unknown
	CPU     int32    // -1 if unknown
	Ring    int32    // index of the ring it came from
	Kind    RecordKind
	Count   uint32 // of a Lost record: how many were lost
}

// A Derived holds the parts of a derived event, which has no record of its own.
type Derived struct {
	Start *Event // of a pair; nil otherwise
	End   *Event
	Slots []Value // computed values, by Field.Offset
}

// A Stream is one opened event of a source: the same tracepoint opened twice
// with different filters makes two streams with one schema.
type Stream struct {
	Index  int // dense within the source, the position in Source.Streams
	Schema *Schema
	Label  string // alias, or the schema's full name
	// Title is the name of the stream's events in printed lines: the profiler's
	// name for samples of a profiler. "" means the schema's full name.
	Title string
	// Members decodes sample members that are not in Event; nil if the
	// source has none.
	Members Members
	// Comm names the thread of an event: from the event itself, from the
	// comm records of the run, from /proc, else "pid-N". The session sets it.
	Comm func(e *Event) string
	// Cgroup returns the value of a member OfCgroup; false if the event's cgroup is
	// not known. The session sets it if the plan reads such members.
	Cgroup func(e *Event, f Member) (string, bool)
}

// Members fetches the rarely used members of a sample from its record.
type Members interface {
	// Member returns the numeric member; ok is false if the sample does not
	// carry it. MemberCallchain is a number that stands for the stack;
	// runtime/stack adds it.
	Member(e *Event, f Member) (v uint64, ok bool)
	// Callchain returns the addresses, innermost first, as a view of Rec.
	// PERF_CONTEXT_* markers are left in.
	Callchain(e *Event) []uint64
}

// Keep copies e and the memory that it views into dst, so that dst outlives
// the ring. It reuses dst's buffers.
func (e *Event) Keep(dst *Event) {
	raw, rec, derived := dst.Raw, dst.Rec, dst.Derived
	*dst = *e
	if len(e.Rec) > 0 {
		dst.Rec = append(rec[:0], e.Rec...)
		dst.Raw = raw[:0]
		// Raw is usually a part of Rec: keep it one.
		if off, ok := within(e.Rec, e.Raw); ok {
			dst.Raw = dst.Rec[off : off+len(e.Raw) : off+len(e.Raw)]
			return
		}
	}
	if _, part := within(rec, raw); part {
		raw = nil // it cannot be grown
	}
	dst.Raw = append(raw[:0], e.Raw...)
	if e.Derived != nil {
		if derived == nil {
			derived = new(Derived)
		}
		derived.Slots = append(derived.Slots[:0], e.Derived.Slots...)
		derived.Start = keepPart(derived.Start, e.Derived.Start)
		derived.End = keepPart(derived.End, e.Derived.End)
		dst.Derived = derived
	}
}

func keepPart(dst, src *Event) *Event {
	if src == nil {
		return nil
	}
	if dst == nil {
		dst = new(Event)
	}
	src.Keep(dst)
	return dst
}
