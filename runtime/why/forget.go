package why

import (
	"sort"

	"ppscript/runtime/event"
)

// This file bounds the memory of an Explainer: when it is full, or the older half of the
// records is not needed, that half is dropped.

const evicted = "it is older than the events that are kept"

// manyRecords is the number of records from which age drops old ones: about 40
// MB.
const manyRecords = 1 << 18

// Since returns the time from which on the events are complete; 0 if nothing
// happened before them.
func (x *Explainer) Since() event.Time { return x.since }

// age drops the older half of the records while there are at least manyRecords and the half is
// older than old.
func (x *Explainer) age(old event.Time) {
	for len(x.recs) >= manyRecords && x.recs[len(x.recs)/2].at < old {
		x.forget()
	}
}

// forget drops the older half of the records, and the closings of files in them.
func (x *Explainer) forget() {
	n := len(x.recs)
	x.index.forget()
	x.files.forget(n-len(x.recs), x.since)
}

// forget drops the older half of the records: Slow path, once in thousands of events.
func (x *index) forget() {
	n := int32(len(x.recs) / 2)
	x.since, x.why = x.recs[n].at, evicted
	x.recs = append(x.recs[:0], x.recs[n:]...)
	for i := range x.recs {
		r := &x.recs[i]
		r.ref, r.top = older(r.ref, n), older(r.top, n)
	}
	for tid, t := range x.threads {
		k := sort.Search(len(t.list), func(i int) bool { return t.list[i].rec >= n })
		t.list = append(t.list[:0], t.list[k:]...)
		for i := range t.list {
			e := &t.list[i]
			e.rec -= n
			e.now = e.now.older(n)
		}
		t.now, t.era = t.now.older(n), max(t.era-k, 0)
		if len(t.list) == 0 {
			delete(x.threads, tid)
		}
	}
	for i := range x.cpus {
		x.cpus[i].forget(n, x)
	}
	for key, p := range x.flying {
		if p = older(p, n); p < 0 {
			delete(x.flying, key)
		} else {
			x.flying[key] = p
		}
	}
	k := sort.Search(len(x.limits), func(i int) bool { return x.limits[i] >= n })
	x.limits = append(x.limits[:0], x.limits[k:]...)
	for i := range x.limits {
		x.limits[i] -= n
	}
	x.gaps.forget(x.since)
}

// older returns the index of a record after the first n were dropped; -1 if it
// was dropped.
func older(rec, n int32) int32 {
	if rec < n {
		return min(rec, -1)
	}
	return rec - n
}

func (d doing) older(n int32) doing {
	return doing{older(d.sys, n), older(d.fault, n), older(d.lock, n), older(d.work, n)}
}

// forget drops the turns of a CPU that ended before record n.
func (c *cpu) forget(n int32, x *index) {
	k := firstTurnAfter(c.list, x.since)
	k = max(k-1, 0) // keeps the turn that lasts at since
	c.list = append(c.list[:0], c.list[k:]...)
	for i := range c.list {
		u := &c.list[i]
		u.rec, u.top = older(u.rec, n), older(u.top, n)
	}
	open := c.open[:0]
	for _, o := range c.open {
		if o = older(o, n); o >= 0 {
			open = append(open, o)
		}
	}
	c.open = open
	c.doubts = c.doubts[:0]
	c.completed, c.rx, c.limit = older(c.completed, n), older(c.rx, n), older(c.limit, n)
}
