package perfetto

import (
	"io"
	"strconv"

	"ppscript/runtime/event"
	"ppscript/runtime/result/timeline"
	"ppscript/runtime/text/diag"
)

// Numbers of fields. Messages that are encoded in only one place have their
// numbers there.
const (
	tracePacket = 1 // in the file

	packetFtrace     = 1
	packetClocks     = 6
	packetTime       = 8
	packetSequence   = 10
	packetTrackEvent = 11
	packetInterned   = 12
	packetFlags      = 13
	packetSystem     = 45
	packetDefaults   = 59
	packetTrack      = 60
	packetSample     = 66

	eventAnnotation = 4
	eventType       = 9
	eventName       = 10
	eventTrack      = 11
	eventDouble     = 44
	eventLeads      = 47
	eventFollows    = 48
	eventStack      = 56

	typeBegin   = 1
	typeEnd     = 2
	typeInstant = 3
	typeCounter = 4

	stateCleared = 1 // values of packetFlags
	stateNeeded  = 2

	clockRealtime = 1
	clockBoottime = 6
)

// sequence is the number of the only sequence of packets in a file.
const sequence = 1

// flushBytes is the size from which the buffer is written.
const flushBytes = 256 << 10

// A Writer writes a trace. It implements timeline.Writer.
type Writer struct {
	w      io.Writer
	opt    timeline.About
	out    []byte // complete packets
	packet []byte // the packet that is being encoded
	event  []byte // a message within the packet
	part   []byte // a message within event
	err    error
	begun  bool
	last   uint64 // ID of the newest track that was described
	names  internTable
	stacks stacks
	weight weights
	list   []byte // buffer for the elements of an array
}

// New makes a Writer, without writing.
func New(w io.Writer, o timeline.About) *Writer {
	t := &Writer{w: w, opt: o}
	t.clearState()
	return t
}

// begin writes the first packets: the machine, and the wall-clock time.
func (t *Writer) begin(at event.Time) {
	t.begun = true
	if t.opt.Release != "" {
		uts := appendBytes(appendBytes(nil, 1, "Linux"), 3, t.opt.Release)
		if t.opt.Arch != "" {
			uts = appendBytes(uts, 4, t.opt.Arch)
		}
		t.packet = appendBytes(t.packet[:0], packetSystem, appendBytes(nil, 1, uts))
		t.put()
	}
	clock := func(id int, ns int64) []byte { return appendInt(appendUint(nil, 1, uint64(id)), 2, ns) }
	snapshot := appendBytes(nil, 1, clock(clockBoottime, int64(at)))
	if t.opt.Clock != nil {
		if wall := t.opt.Clock(at); !wall.IsZero() {
			snapshot = appendBytes(snapshot, 1, clock(clockRealtime, wall.UnixNano()))
		}
	}
	snapshot = appendUint(snapshot, 2, clockBoottime) // the primary clock
	t.packet = appendBytes(t.packet[:0], packetClocks, snapshot)
	t.put()
	t.packet = appendUint(t.packet[:0], packetFlags, stateCleared)
	t.put()
}

// put ends the packet and adds it to the buffer.
func (t *Writer) put() {
	t.packet = appendUint(t.packet, packetSequence, sequence)
	t.out = appendBytes(t.out, tracePacket, t.packet)
	if len(t.out) >= flushBytes {
		t.flush()
	}
}

func (t *Writer) flush() {
	if t.err == nil && len(t.out) > 0 {
		if _, err := t.w.Write(t.out); err != nil {
			t.err = &diag.Error{Op: "write", Subject: "perfetto", Cause: err}
		}
	}
	t.out = t.out[:0]
}

// Flush implements timeline.Writer.
func (t *Writer) Flush() error {
	t.flush()
	return t.err
}

// Close implements timeline.Writer. A trace without events still has the clock.
func (t *Writer) Close() error {
	if !t.begun {
		t.begin(0)
	}
	return t.Flush()
}

// Write implements timeline.Writer.
func (t *Writer) Write(it *timeline.Item) {
	if t.err != nil {
		return
	}
	if !t.begun {
		t.begin(it.Time)
	}
	t.describe(it.Track)
	switch it.Kind {
	case timeline.Instant:
		t.track(it, it.Time, typeInstant)
	case timeline.Slice:
		t.track(it, it.Time, typeBegin)
		t.track(it, it.End, typeEnd)
	case timeline.Counter:
		t.track(it, it.Time, typeCounter)
	case timeline.Sample:
		t.sample(it)
	case timeline.Switch:
		t.switched(it)
	case timeline.Wakeup:
		t.woke(it)
		t.track(it, it.Time, typeInstant)
	}
	if t.full() {
		t.clearState()
		t.packet = appendUint(t.packet[:0], packetFlags, stateCleared)
		t.put()
	}
}

// track writes an event of a track. New names and stacks are written in the same packet.
func (t *Writer) track(it *timeline.Item, at event.Time, is uint64) {
	ev := appendUint(t.event[:0], eventType, is)
	ev = appendUint(ev, eventTrack, it.Track.ID)
	switch is {
	case typeCounter:
		ev = appendDouble(ev, eventDouble, it.Value)
	case typeEnd:
		if id := t.stack(it.EndStack); id != 0 {
			ev = appendUint(ev, eventStack, id)
		}
	default:
		ev = appendUint(ev, eventName, t.names.event(it.Name))
		ev = t.annotations(ev, it)
		if it.Leads != 0 {
			ev = appendFixed(ev, eventLeads, it.Leads)
		}
		if it.Follows != 0 {
			ev = appendFixed(ev, eventFollows, it.Follows)
		}
		if id := t.stack(it.Stack); id != 0 {
			ev = appendUint(ev, eventStack, id)
		}
	}
	t.event = ev
	t.packet = appendInt(t.packet[:0], packetTime, int64(at))
	t.packet = appendBytes(t.packet, packetTrackEvent, ev)
	t.putInterned()
}

// putInterned ends a packet that uses interned values, and adds the new ones to
// it.
func (t *Writer) putInterned() {
	t.packet = appendUint(t.packet, packetFlags, stateNeeded)
	if len(t.names.fresh) > 0 {
		t.packet = appendBytes(t.packet, packetInterned, t.names.fresh)
		t.names.fresh = t.names.fresh[:0]
	}
	t.put()
}

// annotations appends the fields of the event.
func (t *Writer) annotations(ev []byte, it *timeline.Item) []byte {
	for i := range it.Args {
		a := &it.Args[i]
		v := a.Value(it.Event)
		if v.Kind == timeline.NoArg {
			continue
		}
		p := appendUint(t.part[:0], 1, t.names.arg(a))
		switch v.Kind {
		case timeline.IntArg:
			p = appendInt(p, 4, int64(v.Num))
		case timeline.UintArg:
			p = appendUint(p, 3, v.Num)
		case timeline.FloatArg:
			p = appendFixed(p, 5, v.Num)
		case timeline.TextArg:
			p = appendText(p, 6, v.Text)
		case timeline.AddressArg:
			p = appendUint(p, 7, v.Num)
		case timeline.ArrayArg:
			p = t.array(p, &v)
		}
		t.part = p
		ev = appendBytes(ev, eventAnnotation, p)
	}
	return ev
}

// array appends the elements of an array.
func (t *Writer) array(dst []byte, v *timeline.ArgValue) []byte {
	const ofArray = 2
	list := appendUint(t.list[:0], 1, ofArray)
	v.Elements(func(n int64, signed bool) {
		var buf, digits [24]byte
		one := buf[:0]
		if signed || n >= 0 {
			one = appendInt(one, 5, n)
		} else {
			// The message has no uint64.
			one = appendBytes(one, 8, strconv.AppendUint(digits[:0], uint64(n), 10))
		}
		list = appendBytes(list, 4, one)
	})
	t.list = list
	return appendBytes(dst, 8, list)
}
