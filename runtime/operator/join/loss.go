package join

import "ppscript/runtime/event"

// losses holds the end of the last loss of each ring. A loss may have an open
// end, which a later loss of the ring closes.
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

// Lost implements flow.Sink: the lost events may have been the ends of
// waiting starts, or newer starts; pairing across them would report wrong
// latencies. Starts in the ring, or all if pairs span rings, are discarded,
// and until the loss is over nothing starts or ends.
func (j *Join) Lost(ring int32, lost uint64, t event.Time) {
	j.list.each(func(n int32) {
		if !j.spec.ByRing || j.list.at[n].ring == ring {
			j.tally.stats.Broken++
			j.discard(n, Broken, t)
		}
	})
	if !j.spec.ByRing && j.spec.LossEnd != nil {
		j.clock.closed = j.clock.losses.add(ring, j.spec.LossEnd(ring))
	}
	for i := range j.running {
		j.running[i] = unknownTask
	}
	j.next.Lost(ring, lost, t)
	if j.spec.To != nil {
		j.spec.To.Lost(ring, lost, t)
	}
}

// evict pushes out the oldest event that waits.
func (j *Join) evict() {
	j.tally.stats.Evicted++
	j.discard(j.list.oldest(), Evicted, j.list.at[j.list.newest()].time)
}

// discard removes n, which stays without a partner.
func (j *Join) discard(n int32, why Reason, at event.Time) {
	j.list.broke(n, why)
	if j.spec.Streams != nil {
		j.leaves(j.list.event(n, &j.matches.gone), why, at)
	}
	j.rows.at[j.list.at[n].row] = nobody
	j.rows.empty++
	j.list.unlink(n)
	j.list.free(n)
}
