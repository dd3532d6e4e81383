package budget

import "time"

// This file says for which time a slot stands, and so how much more than itself: from the middle of
// the gap before it to the middle of that behind it. How long a gap is depends on how much the slot
// before it cost, so a slot that stood for all of the gap behind it would stand for the longer the
// more was in it.

// A ledger is where a run is in slots of time.
type ledger struct {
	began, ended time.Time // the slot; began is zero before the first one, ended while it lasts
	from         time.Time // since when it stands for all
	gap          float64   // s without events before it, of which it has the end
	cut          bool      // the gap began with an interval, and is all of the slot behind it
}

// close begins to count the gap before the first slot.
func (l *ledger) close(now time.Time) { *l = ledger{ended: now, from: now} }

// end ends the slot.
func (l *ledger) end(now time.Time) { l.ended = now }

// length is how long the slot lasted, s.
func (l *ledger) length() float64 { return max(l.ended.Sub(l.began).Seconds(), 1e-6) }

// stands is for how long the slot that ended stands, s, if the gap behind it ends now.
func (l *ledger) stands(now time.Time) float64 { return l.middle(now).Sub(l.from).Seconds() }

// middle returns the middle of the gap behind the slot, if that ends now.
func (l *ledger) middle(now time.Time) time.Time { return l.ended.Add(now.Sub(l.ended) / 2) }

// begin begins a slot: the gap ends.
func (l *ledger) begin(now time.Time) {
	from := l.middle(now)
	if l.cut {
		from = l.from
	}
	*l = ledger{began: now, from: from, gap: now.Sub(l.ended).Seconds()}
}

// interval has one end in a gap.
func (l *ledger) interval(now time.Time) { *l = ledger{ended: now, from: now, cut: true} }
