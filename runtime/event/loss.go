package event

// Loss counts what a result does not contain. Every result carries one and
// every renderer shows it when it is not zero.
type Loss struct {
	Lost      uint64 `json:"lost,omitempty"`      // dropped by the kernel: ring full
	Dropped   uint64 `json:"dropped,omitempty"`   // dropped by us: a bound was hit
	Late      uint64 `json:"late,omitempty"`      // arrived after their time was passed
	Truncated uint64 `json:"truncated,omitempty"` // record shorter than its schema
	Unmatched uint64 `json:"unmatched,omitempty"` // one half of a pair
	Evicted   uint64 `json:"evicted,omitempty"`   // keys or pending state pushed out
	Errors    uint64 `json:"errors,omitempty"`    // a per-event function failed
	Throttled uint64 `json:"throttled,omitempty"` // times that the kernel paused sampling
}

// Add adds o to l.
func (l *Loss) Add(o Loss) {
	l.Lost += o.Lost
	l.Dropped += o.Dropped
	l.Late += o.Late
	l.Truncated += o.Truncated
	l.Unmatched += o.Unmatched
	l.Evicted += o.Evicted
	l.Errors += o.Errors
	l.Throttled += o.Throttled
}

// Zero reports that nothing was lost.
func (l Loss) Zero() bool { return l == Loss{} }

// Missing is the number of events that were generated and not seen.
func (l Loss) Missing() uint64 { return l.Lost + l.Dropped + l.Truncated + l.Errors }

// LossEnd is when the loss that a Lost record tells of was over: the time of
// the next record of the ring. Time is when it began: that of the record
// before. Package order puts both in; 0 is not known.
func (e *Event) LossEnd() Time {
	if e.Kind != Lost || e.Joint == nil || len(e.Joint.Slots) == 0 {
		return 0
	}
	return Time(e.Joint.Slots[0].Int())
}
