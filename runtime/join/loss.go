package join

import "ppscript/runtime/event"

// losses are the ends of the last loss of each ring. A loss may be open at
// first, and be closed by a later one of the same ring.
type losses []event.Time

// add notes when the loss of a ring ends and returns when all are over.
func (l *losses) add(ring int32, end event.Time) event.Time {
	if ring >= 0 && ring < maxCPU {
		for int(ring) >= len(*l) {
			*l = append(*l, 0)
		}
		(*l)[ring] = end
	}
	var last event.Time
	for _, t := range *l {
		last = max(last, t)
	}
	return last
}
