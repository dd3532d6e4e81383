package event

// Loss counts the events that a result does not contain. Every result
// carries one and every renderer shows it when it is not zero.
type Loss struct {
	Lost      uint64 `json:"lost,omitempty"`      // dropped by the kernel: ring full
	Dropped   uint64 `json:"dropped,omitempty"`   // dropped by us: a bound was hit
	Late      uint64 `json:"late,omitempty"`      // older than events that were already delivered
	Truncated uint64 `json:"truncated,omitempty"` // record shorter than its schema
	Unmatched uint64 `json:"unmatched,omitempty"` // one half of a pair
	Broken    uint64 `json:"broken,omitempty"`    // seen, but given up since a loss may have touched them
	Evicted   uint64 `json:"evicted,omitempty"`   // keys or pending state pushed out
	Errors    uint64 `json:"errors,omitempty"`    // a per-event function failed
	Throttled uint64 `json:"throttled,omitempty"` // times that the kernel paused sampling
	// EndedEarly counts inputs that ended before their writers ended them: a
	// sender was killed, a connection broke, a recording was cut. The number of
	// missing events is not known.
	EndedEarly uint64 `json:"ended_early,omitempty"`
	// EndsAlone counts the part of Unmatched that are ends without a start: the start was
	// before the run, excluded by a condition, or lost. The rest of Unmatched are starts
	// without an end.
	EndsAlone uint64 `json:"ends_alone,omitempty"`
}

// A LossCount is one counter of a Loss. Name is its JSON member.
type LossCount struct {
	Name string
	N    uint64
}

// Counts lists all counters, the kernel's own first: everything that shows a
// Loss goes through it. EndsAlone is a part of Unmatched.
func (l *Loss) Counts() [10]LossCount {
	return [10]LossCount{
		{"lost", l.Lost}, {"dropped", l.Dropped}, {"late", l.Late}, {"truncated", l.Truncated}, {"unmatched", l.Unmatched}, {"broken", l.Broken},
		{"evicted", l.Evicted}, {"errors", l.Errors}, {"throttled", l.Throttled}, {"ended_early", l.EndedEarly},
	}
}

// Add adds o to l.
func (l *Loss) Add(o Loss) {
	l.Lost += o.Lost
	l.Dropped += o.Dropped
	l.Late += o.Late
	l.Truncated += o.Truncated
	l.Unmatched += o.Unmatched
	l.Broken += o.Broken
	l.Evicted += o.Evicted
	l.Errors += o.Errors
	l.Throttled += o.Throttled
	l.EndedEarly += o.EndedEarly
	l.EndsAlone += o.EndsAlone
}

// Zero reports that nothing was lost.
func (l Loss) Zero() bool { return l == Loss{} }

// Missing is the number of events that were generated and not used. Broken is
// not in it: those events were seen, and it counts states, which may stand for
// any number of events.
func (l Loss) Missing() uint64 { return l.Lost + l.Dropped + l.Truncated + l.Errors }

// Incomplete reports that events are missing, counted or not.
func (l Loss) Incomplete() bool { return l.Missing() > 0 || l.EndedEarly > 0 }

// LossEnd is the end of the loss that a Lost record reports: the time of the
// next record of the ring. The event's Time is the begin: the time of the
// record before it. Package order sets both; 0 means unknown.
func (e *Event) LossEnd() Time {
	if e.Kind != Lost || e.Derived == nil || len(e.Derived.Slots) == 0 {
		return 0
	}
	return Time(e.Derived.Slots[0].Int())
}

// LossBegin is a time before which nothing was lost, if the source has a later one than
// the record before the loss; otherwise 0.
func (e *Event) LossBegin() Time {
	if e.Kind != Lost || e.Derived == nil || len(e.Derived.Slots) < 2 {
		return 0
	}
	return Time(e.Derived.Slots[1].Int())
}

// Between makes the Derived of a Lost event, which holds the times returned by
// LossBegin and LossEnd.
func Between(begin, end Time) *Derived { return &Derived{Slots: []Value{TimeOf(end), TimeOf(begin)}} }
