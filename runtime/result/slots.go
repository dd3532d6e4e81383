package result

import (
	"strconv"

	"ppscript/runtime/event"
)

// This file completes rows whose key is a slot of time. If an interval ends in
// the middle of a slot, the rows of the slot are kept for the next interval,
// which adds the later events. So each slot is shown once, with all its events.
//
// Tempting and wrong: ending intervals at the ends of slots. Events arrive some
// time after they happened, so there are rows of the next slot at any time.

// Slots keeps the rows of slots of time that are not over.
type Slots struct{ waiting [][]event.Value }

// Over returns the rows of the slots that are over at until, including their parts of
// earlier intervals, and keeps the other rows. If until is 0, all slots are over. The
// first keys columns of a row are its key; the cell at index slot is the number of
// its slot. Slots have a length of period, in ns.
func (s *Slots) Over(rows [][]event.Value, keys, slot int, period int64, until event.Time) [][]event.Value {
	all := s.waiting
	s.waiting = nil
	known := make(map[string]int, len(all))
	for i, row := range all {
		known[rowKey(row[:keys])] = i
	}
	for _, row := range rows {
		i, ok := known[rowKey(row[:keys])]
		if !ok {
			all = append(all, row)
			continue
		}
		for j := keys; j < len(row); j++ {
			all[i][j] = plus(all[i][j], row[j])
		}
	}
	if until == 0 {
		return all
	}
	over := floorDiv(int64(until), period)
	done := all[:0:0]
	for _, row := range all {
		if row[slot].Int() < over {
			done = append(done, row)
		} else {
			s.waiting = append(s.waiting, CloneRow(row))
		}
	}
	return done
}

// rowKey returns a text that is different for each key.
func rowKey(key []event.Value) string {
	var b []byte
	for _, v := range key {
		s := v.String()
		b = strconv.AppendInt(append(b, byte(v.Kind)), int64(len(s)), 10)
		b = append(append(b, ':'), s...)
	}
	return string(b)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
