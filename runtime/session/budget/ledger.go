package budget

import "time"

// This file computes the time that a slot stands for: from the middle of the gap before it to the
// middle of the gap behind it. A gap is longer if the slot before it was expensive. So if a slot
// stood for the whole gap behind it, busy slots would count too much.

// A ledger has the times of the current slot and its gaps.
type ledger struct {
	began, ended time.Time // the slot; began is zero before the first one, ended while it lasts
	from         time.Time // begin of the time that it stands for
	gap          float64   // the gap before it, s
	cut          bool      // an interval began in the gap: the slot stands for all of it
}

// close begins to count the gap before the first slot.
func (l *ledger) close(now time.Time) { *l = ledger{ended: now, from: now} }

// end ends the slot.
func (l *ledger) end(now time.Time) { l.ended = now }

// length returns the length of the slot, s.
func (l *ledger) length() float64 { return max(l.ended.Sub(l.began).Seconds(), 1e-6) }

// stands returns the time that the ended slot stands for, s, if the gap after it ends
// now.
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

// interval ends an interval within a gap.
func (l *ledger) interval(now time.Time) { *l = ledger{ended: now, from: now, cut: true} }
