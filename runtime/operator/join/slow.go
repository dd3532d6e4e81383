package join

import (
	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// A Slow shows pairs that take longer or shorter than its bounds, with the
// events in between. It implements flow.Sink.
//
// With After, a pair is kept until the events of that time after it have come.
type Slow struct {
	// Than shows pairs that take longer, in ns; Lower shows pairs that take less.
	// A negative bound is not checked; if both are negative, all pairs are shown.
	Than, Lower int64
	Select      *Select   // nil: only the pair itself
	Timeline    *Timeline // nil if Select is
	Emit        func(d *result.Detail)

	copies []*event.Event // copies of pairs, the oldest first
	spare  []*event.Event
	detail result.Detail
	look   looker
	Shown  uint64
	Passed uint64 // pairs that could not be kept until the events after them
}

// keptPairs bounds how many pairs wait for the events after them.
const keptPairs = 4096

// NewSlow returns a Slow; it registers with the timeline.
func NewSlow(s Slow) *Slow {
	n := &s
	if n.Timeline != nil && n.Select != nil {
		n.Timeline.Before = max(n.Timeline.Before, n.Select.Before)
		n.Timeline.After = max(n.Timeline.After, n.Select.After)
		n.Timeline.readers = append(n.Timeline.readers, n)
	}
	return n
}

// Events implements flow.Sink.
func (s *Slow) Events(evs []*event.Event) {
	for _, e := range evs {
		if !s.shows(e) {
			continue
		}
		if s.Select == nil || s.Select.After <= 0 {
			s.show(e)
			continue
		}
		if len(s.copies) >= keptPairs {
			s.Passed++
			continue
		}
		var c *event.Event
		if n := len(s.spare); n > 0 {
			c, s.spare = s.spare[n-1], s.spare[:n-1]
		} else {
			c = new(event.Event)
		}
		e.Keep(c)
		s.copies = append(s.copies, c)
	}
}

// shows reports that a pair is outside the bounds. Fast path.
func (s *Slow) shows(e *event.Event) bool {
	if e.Derived == nil || e.Derived.Start == nil {
		return false
	}
	var delay int64
	if end := e.Derived.End; end != nil {
		delay = int64(end.Time - e.Derived.Start.Time)
	} else {
		delay = int64(e.Time - e.Derived.Start.Time) // unpaired: its age
	}
	if s.Than < 0 && s.Lower < 0 {
		return true
	}
	return s.Than >= 0 && delay > s.Than || s.Lower >= 0 && delay < s.Lower
}

// Lost implements flow.Sink.
func (s *Slow) Lost(int32, uint64, event.Time) {}

// due implements tlReader.
func (s *Slow) due(now event.Time) {
	n := 0
	for _, e := range s.copies {
		if now != event.MaxTime && now <= s.until(e) {
			break
		}
		s.show(e)
		n++
	}
	if n > 0 {
		s.spare = append(s.spare, s.copies[:n]...)
		s.copies = append(s.copies[:0], s.copies[n:]...)
	}
}

func (s *Slow) until(e *event.Event) event.Time { return e.Time + event.Time(s.Select.After) }

// oldest implements tlReader. Pairs come in the order of their ends; the
// starts have to be looked at.
func (s *Slow) oldest() (event.Time, bool) {
	if len(s.copies) == 0 {
		return 0, false
	}
	t := s.copies[0].Derived.Start.Time
	for _, e := range s.copies[1:] {
		t = min(t, e.Derived.Start.Time)
	}
	return t, true
}

// show makes the listing of a pair and hands it out.
func (s *Slow) show(e *event.Event) {
	s.Shown++
	d := &s.detail
	*d = result.Detail{
		Start:  e.Derived.Start,
		End:    e.Derived.End,
		Until:  e.Time,
		Listed: s.Select != nil,
		Lines:  d.Lines[:0],
	}
	if e.Stream != nil {
		d.Pair = e.Stream.Label
	}
	if d.End == nil && len(e.Derived.Slots) > SlotReason {
		d.Reason = e.Derived.Slots[SlotReason].String()
	}
	if s.Select != nil {
		s.Timeline.fill(d.Start.Time-event.Time(s.Select.Before), s.until(e))
		s.look.list(d, e, s.Select, s.Timeline)
	}
	s.Emit(d)
	if cap(d.Lines) > keptLines {
		d.Lines = nil
	}
}

// keptLines is the longest listing, in lines, whose memory is kept for the next
// one.
const keptLines = 1 << 13
