package flow

import "ppscript/runtime/event"

// Fan hands every slice to several sinks.
type Fan struct {
	Next []Sink
	buf  []*event.Event
}

// Events implements Sink.
func (f *Fan) Events(evs []*event.Event) {
	for _, s := range f.Next {
		f.buf = append(f.buf[:0], evs...)
		s.Events(f.buf)
	}
}

// Lost implements Sink.
func (f *Fan) Lost(ring int32, n uint64, t event.Time) {
	for _, s := range f.Next {
		s.Lost(ring, n, t)
	}
}
