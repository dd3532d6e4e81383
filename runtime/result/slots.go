package result

import (
	"strconv"

	"ppscript/runtime/event"
)

// This file keeps slots of time whole. An interval ends in the middle of a slot:
// the rows of the slot wait for the next interval, which adds the later events,
// so that each slot is shown once and whole.
//
// Tempting and wrong: to end intervals where slots do. Events arrive some time
// after they happened, so rows of the next slot are there at any moment.

// Slots are the rows of slots of time that are not over.
type Slots struct{ waiting [][]event.Value }

// Over are the rows of the slots that are over at until, with their parts of earlier
// intervals; the others wait. 0 is the end of all. The first columns of a row are its
// keys; that at index slot is the number of the slot, in multiples of period, ns.
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

// rowKey is a text that tells keys apart.
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
