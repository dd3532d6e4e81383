package silence

import "ppscript/runtime/event"

// Bursts finds the opposite of silences: times in which a key has many events.
type Bursts struct {
	// Count is the number of events within WithinNS of the first that makes a time busy.
	Count  int64
	Within event.Time

	windows map[int64]window
	evicted uint64 // windows that were forgotten before their time
}

// A window holds the begin and the number of events of a key's current window.
type window struct {
	start event.Time
	n     int64
}

// maxWindows bounds the keys; beyond it all begin anew, and are counted as evicted.
const maxWindows = 1 << 16

// Busy counts an event of a key, and reports that it is one of a busy time.
func (b *Bursts) Busy(key int64, at event.Time) bool {
	x, known := b.windows[key]
	if !known || at-x.start >= b.Within || at < x.start {
		if !known && len(b.windows) >= maxWindows {
			b.evicted += uint64(len(b.windows))
			clear(b.windows)
		}
		if b.windows == nil {
			b.windows = map[int64]window{}
		}
		x = window{start: at}
	}
	x.n++
	b.windows[key] = x
	return x.n >= b.Count
}

// Len is the number of keys.
func (b *Bursts) Len() int { return len(b.windows) }

// Loss counts the windows that were evicted since the last call.
func (b *Bursts) Loss() event.Loss {
	n := b.evicted
	b.evicted = 0
	return event.Loss{Evicted: n}
}
