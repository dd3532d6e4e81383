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

// Lost implements flow.Sink: the lost events may have been the ends of what
// waits, or newer starts; pairing across them would report latencies that
// never were. Starts in the ring, or all if pairs span rings, are discarded,
// and until the loss is over nothing starts or ends.
func (j *Join) Lost(ring int32, n uint64, t event.Time) {
	for w := j.list.oldest; w != nil; {
		next := w.next
		if !j.spec.ByRing || w.ev.Ring == ring {
			j.stats.Broken++
			j.discard(w, Broken, t)
		}
		w = next
	}
	if !j.spec.ByRing && j.spec.LossEnd != nil {
		j.closed = j.losses.add(ring, j.spec.LossEnd(ring))
	}
	for i := range j.running {
		j.running[i] = unknownTask
	}
	j.next.Lost(ring, n, t)
	if j.spec.LeftTo != nil {
		j.spec.LeftTo.Lost(ring, n, t)
	}
}

// evict pushes out the oldest event that waits.
func (j *Join) evict() {
	w := j.list.oldest
	j.stats.Evicted++
	j.discard(w, Evicted, j.list.newest.ev.Time)
}

// discard takes w away unmatched.
func (j *Join) discard(w *waiting, why Reason, at event.Time) {
	if j.spec.Left != nil {
		j.leaves(&w.ev, why, at)
	}
	j.rows.at[w.row] = nil
	j.rows.empty++
	j.list.unlink(w)
	j.list.free(w)
}
