package silence

import (
	"cmp"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/key"
)

// minTime is before every real time.
const minTime = -event.MaxTime

// maxGaps bounds the silences that wait for the end of an interval.
const maxGaps = 1 << 18

// A Finder finds silences. It implements flow.Sink.
type Finder struct {
	spec Spec

	// Keys: integers take the fast table, anything else is packed into bytes.
	ints  *key.Ints
	texts *key.Texts
	pack  []byte
	limit int

	rows   []row
	gaps   int // of all rows
	latest event.Time
	lost   losses

	frame expr.Frame
	errs  flow.Errors
	loss  event.Loss // since the last call of Loss, but for errors
}

// New returns a Finder.
func New(s Spec) *Finder {
	f := &Finder{spec: s, limit: cmp.Or(s.Limit, key.DefaultLimit), latest: minTime}
	integer := true
	s.Key.Each(func(p *expr.Program) { integer = integer && p.Type.Numeric() })
	if integer {
		f.ints = key.NewInts(f.limit)
	} else {
		f.texts = key.NewTexts(f.limit)
	}
	const rowBytes = 128 // with some silences
	switch part := s.Memory.Part("silences"); {
	case part == nil:
	case integer:
		f.ints.Bound(part, rowBytes)
	default:
		f.texts.Bound(part, rowBytes)
	}
	return f
}

// Events implements flow.Sink.
//
// Fast path: nearly every event follows another one of its key within the bound.
func (f *Finder) Events(evs []*event.Event) {
	for _, e := range evs {
		f.latest = max(f.latest, e.Time)
		f.frame.Reset(e)
		n, fresh := f.find(e)
		if f.frame.Err != nil {
			f.errs.Note(&f.frame)
			continue
		}
		if fresh {
			f.rows[n] = row{first: e.Time, last: e.Time, ring: e.Ring, gaps: f.rows[n].gaps[:0]}
			continue
		}
		r := &f.rows[n]
		if d := int64(e.Time - r.last); d >= 0 && d <= f.spec.Than {
			r.last = e.Time
			continue
		}
		if f.gaps += r.add(e.Time, f.spec.Than); f.gaps > maxGaps {
			f.shorten()
		}
	}
}

// find finds the row of an event's key, and makes it if it is new.
func (f *Finder) find(e *event.Event) (n int32, fresh bool) {
	p := f.spec.Key.For(e)
	var k keyAt
	if f.ints != nil {
		k.number = p.Int(&f.frame)
	} else {
		f.pack = key.Append(f.pack[:0], p, &f.frame)
		k.text = f.pack
	}
	if f.frame.Err != nil {
		return key.None, false
	}
	return f.put(k)
}

// evict gives up the states of the keys that were silent for longest, one of
// sixteen. Their silences that are over go with them.
func (f *Finder) evict() {
	var last []event.Time
	f.each(func(k keyAt) { last = append(last, f.rows[k.row].last) })
	slices.Sort(last)
	most := last[len(last)/16]

	var goes []keyAt
	f.each(func(k keyAt) {
		if f.rows[k.row].last <= most {
			k.text = slices.Clone(k.text)
			goes = append(goes, k)
		}
	})
	for _, k := range goes {
		f.gaps -= len(f.rows[k.row].gaps)
		f.rows[k.row] = row{}
		f.delete(k)
	}
	f.loss.Evicted += uint64(len(goes))
	if !f.spec.Ordered {
		// Older events of these keys may still come, or another reader may have
		// them. Then times that the evicted keys covered would look silent.
		f.lost.add(anyRing, span{minTime, most})
	}
}

// shorten drops the shorter half of the waiting silences.
func (f *Finder) shorten() {
	var lengths []int64
	for i := range f.rows {
		for _, g := range f.rows[i].gaps {
			lengths = append(lengths, int64(g.to-g.from))
		}
	}
	slices.Sort(lengths)
	most := lengths[len(lengths)/2]
	for i := range f.rows {
		r := &f.rows[i]
		before := len(r.gaps)
		r.gaps = slices.DeleteFunc(r.gaps, func(g span) bool { return int64(g.to-g.from) <= most })
		f.gaps -= before - len(r.gaps)
		f.loss.Evicted += uint64(before - len(r.gaps))
	}
}

// Lost implements flow.Sink: the lost events may have been of any key, unless keys
// do not span rings. No silence that they may have ended is shown.
func (f *Finder) Lost(ring int32, _ uint64, t event.Time) {
	end := f.latest
	if f.spec.LossEnd != nil {
		end = cmp.Or(f.spec.LossEnd(ring), end)
	}
	if !f.spec.ByRing {
		ring = anyRing
	}
	f.lost.add(ring, span{t, max(t, end) + 1})
}

// Take returns the silences that ended by a time up to which all events have come,
// longest first, and forgets them. At the end of the run, end is its time, and open
// silences are returned too; else end is 0.
func (f *Finder) Take(until, end event.Time) []Silence {
	var list []Silence
	oldest := event.MaxTime // of what is still to come
	f.each(func(k keyAt) {
		r := &f.rows[k.row]
		f.gaps -= len(r.gaps)
		r.gaps = slices.DeleteFunc(r.gaps, func(g span) bool {
			if g.to > until {
				return false
			}
			list = f.take(list, k, g, true)
			return true
		})
		f.gaps += len(r.gaps)
		if end != 0 && int64(end-r.last) > f.spec.Than {
			list = f.take(list, k, span{r.last, end}, false)
		}
		oldest = min(oldest, r.last)
		if len(r.gaps) > 0 {
			oldest = min(oldest, r.gaps[0].from)
		}
	})
	f.lost.forget(min(oldest, until))
	slices.SortFunc(list, func(a, b Silence) int {
		return cmp.Or(cmp.Compare(b.Length(), a.Length()), cmp.Compare(a.From, b.From), a.Key.Compare(b.Key))
	})
	return list
}

// take appends a silence, unless a loss may explain it.
func (f *Finder) take(list []Silence, k keyAt, g span, over bool) []Silence {
	if f.lost.touch(f.rows[k.row].ring, g) {
		f.loss.Broken++
		return list
	}
	return append(list, Silence{Key: f.value(k), From: g.from, To: g.to, Over: over})
}

// A keyAt is a key with its row: a number, or packed.
type keyAt struct {
	number int64
	text   []byte
	row    int32
}

// each calls fn for each key.
func (f *Finder) each(fn func(k keyAt)) {
	if f.ints != nil {
		f.ints.Each(func(k int64, n int32) { fn(keyAt{number: k, row: n}) })
	} else {
		f.texts.Each(func(k []byte, n int32) { fn(keyAt{text: k, row: n}) })
	}
}

// put finds or makes the row of a key. If there is no room, other keys are
// evicted.
func (f *Finder) put(k keyAt) (n int32, fresh bool) {
	insert := func() (int32, bool) {
		if f.ints != nil {
			return f.ints.Insert(k.number)
		}
		return f.texts.Insert(k.text)
	}
	if n, fresh = insert(); n == key.None {
		f.evict()
		n, fresh = insert()
	}
	for int(n) >= len(f.rows) {
		f.rows = append(f.rows, row{})
	}
	return n, fresh
}

func (f *Finder) delete(k keyAt) {
	if f.ints != nil {
		f.ints.Delete(k.number)
	} else {
		f.texts.Delete(k.text)
	}
}

// value is a key as results show it.
func (f *Finder) value(k keyAt) event.Value {
	p := f.spec.Key.Any()
	if f.ints != nil {
		return key.ValueOf(p, k.number)
	}
	v, _ := key.Take(k.text, p)
	return v
}

// Absorb merges the silences of another reader into f, and empties that reader.
func (f *Finder) Absorb(o *Finder) {
	o.each(func(k keyAt) {
		n, fresh := f.put(k)
		if fresh {
			f.rows[n], o.rows[k.row] = o.rows[k.row], row{}
			f.gaps += len(f.rows[n].gaps)
		} else {
			f.gaps += f.rows[n].merge(&o.rows[k.row], f.spec.Than)
		}
	})
	if o.ints != nil {
		o.ints.Reset()
	} else {
		o.texts.Reset()
	}
	for _, l := range o.lost.list {
		f.lost.add(l.ring, l.span)
	}
	f.latest = max(f.latest, o.latest)
	f.loss.Add(o.loss)
	f.errs.Absorb(&o.errs)
	o.rows, o.gaps, o.lost, o.loss = nil, 0, losses{}, event.Loss{}
	if f.gaps > maxGaps {
		f.shorten()
	}
}

// Len is the number of keys.
func (f *Finder) Len() int {
	if f.ints != nil {
		return f.ints.Len()
	}
	return f.texts.Len()
}

// Waiting is the number of silences that wait for the end of an interval.
func (f *Finder) Waiting() int { return f.gaps }

// Errors returns the failed evaluations since the last call of Loss.
func (f *Finder) Errors() *flow.Errors { return &f.errs }

// Loss returns the loss of the silences since the last call.
func (f *Finder) Loss() event.Loss {
	l := f.loss
	l.Errors += f.errs.N
	f.loss, f.errs.N = event.Loss{}, 0
	return l
}
