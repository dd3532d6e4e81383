package join

import "ppscript/runtime/event"

// This file loads memory ahead of its use. With a million waiting keys, each
// event needs several places in memory that no cache has, and each would cost a
// hundred nanoseconds. So each step is done for all events of a batch before the
// next step, and the processor loads many places at once. With few keys this
// still helps for the records that keys are read from. The steps change no state.

// ahead is the number of events of a batch.
const ahead = 64

type lookAhead struct {
	keys  [ahead]int64
	rows  [ahead]int32
	loads int64 // keeps the loads from being left out
}

// evaluate sets the keys of all events, which are at most ahead, and loads the
// entries of the table for them. False means that not all keys can be computed
// ahead.
//
// Fast path: these loops run for every event.
func (j *Join) evaluate(evs []*event.Event) bool {
	l := &j.key.look
	for i, e := range evs {
		in := &j.in[e.Stream.Index]
		if !in.arrives || in.Untraced {
			continue // the key is whatever was there
		}
		if in.slow {
			return false
		}
		j.frame.Reset(e)
		l.keys[i] = in.Key.Int(&j.frame)
		if j.frame.Err != nil {
			return false
		}
	}
	if !j.rows.ints.Large() {
		return true
	}
	keys, rows := l.keys[:len(evs)], l.rows[:len(evs)]
	loads := int64(j.rows.ints.Touch(keys))
	for i, k := range keys {
		if rows[i] = j.rows.ints.Find(k); rows[i] >= 0 {
			loads += int64(j.rows.at[rows[i]])
		}
	}
	for _, row := range rows {
		if row >= 0 {
			if n := j.rows.at[row]; n != nobody {
				loads += j.list.load(n)
			}
		}
	}
	unused := j.list.unused
	for _, n := range unused[max(0, len(unused)-len(evs)):] {
		loads += j.list.load(n)
	}
	l.loads += loads
	return true
}
