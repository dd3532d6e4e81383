package live

import (
	"encoding/binary"
	"slices"
	"strings"
	"time"
	"unsafe"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file counts the stacks of lines of events, such as of profile -g, so that they
// can also be shown as a flame graph.

// maxSampled bounds the different stacks of an interval; further stacks are only
// counted as omitted.
const maxSampled = 20_000

// sampler counts the lines with each stack.
type sampler struct {
	index map[string]int
	list  result.Stacks
	key   []byte

	shown       time.Time
	seq         int
	fresh       bool // lines were added since the stacks were shown
	first, last event.Time
	total       uint64
}

// add counts the stack of a line. All stacks share their Frames, so frames are compared by
// address.
func (s *sampler) add(l *result.Line) {
	comm := ""
	if st := l.Event.Stream; st != nil && st.Comm != nil {
		comm = st.Comm(l.Event)
	}
	s.key = append(append(s.key[:0], comm...), 0)
	for _, f := range l.Frames {
		s.key = binary.LittleEndian.AppendUint64(s.key, uint64(uintptr(unsafe.Pointer(f))))
	}
	if s.index == nil {
		s.index = map[string]int{}
	}
	if !s.fresh && len(s.index) == 0 {
		s.first = l.Event.Time
	}
	s.fresh, s.last = true, l.Event.Time
	s.total++
	at, ok := s.index[string(s.key)]
	switch {
	case ok:
		s.list.Samples[at].Count++
		return
	case len(s.list.Samples) >= maxSampled:
		s.list.Omitted++
		s.list.OmittedCount++
		return
	}
	s.index[string(s.key)] = len(s.list.Samples)
	s.list.Samples = append(s.list.Samples, result.StackSample{
		Key: []event.Value{event.StrOf(strings.Clone(comm))}, PID: l.Event.PID,
		CallStack: result.CallStack{Frames: slices.Clone(l.Frames), Cut: l.Cut}, Count: 1,
	})
}

// due returns the stacks if it is time to show them, else nil. With intervals they are
// the stacks of the interval; without intervals they are all stacks since the start.
func (s *sampler) due(now time.Time, interval time.Duration, final bool) *result.Stacks {
	wait := interval
	if wait == 0 {
		wait = refreshTime
	}
	if !s.fresh || !final && now.Sub(s.shown) < wait {
		return nil
	}
	s.shown, s.fresh = now, false
	out := s.list
	out.Name, out.Title = "stacks of lines", "Stacks"
	out.Keys = []result.Column{{Name: "comm", Kind: result.KeyColumn}}
	out.Begin, out.End, out.Wall, out.TotalSamples = s.first, s.last, now, s.total
	out.Samples = slices.Clone(s.list.Samples)
	out.Merge()
	out.Sort()
	count, _ := out.Total()
	out.Meta.Samples, out.Final = count, final
	if interval > 0 {
		s.seq++
		out.Seq = s.seq
		s.list = result.Stacks{}
		clear(s.index)
	}
	return &out
}
