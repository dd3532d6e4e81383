// Package arrival reads what joins of programs have not handed out: the events that wait for
// a partner, and the tree of calls. Session gives it to the plan's instance, whose joins ask
// when an interval ends.
package arrival

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"ppscript/bpf"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/join"
	"ppscript/runtime/sent"
)

// Programs are those that do the work of joins.
type Programs struct {
	Image *bpf.Image
	Run   *load.Run
	// Streams are all of the plan's, by index, and Events those that programs take.
	Streams, Events []*event.Stream
	Now             func() event.Time
	Failed          func(error)

	missed uint64     // events that programs had missed at the last look
	until  event.Time // when it was seen that these became more
}

// Calls are those of a join that nests, as far as programs have seen them.
func (p *Programs) Calls(of *join.Spec) []join.Call {
	calls := make([]join.Call, 1)
	if index, ok := p.Image.Calls(of); ok {
		seen, err := load.Calls(p.Run, index)
		if err == nil {
			return seen
		}
		p.Failed(err)
	}
	return calls
}

// Waiting hands out what waits in a join, the oldest first, or what was given up since the
// last call, since too much waited: why is Evicted then. Of what began before programs
// missed an event nobody knows whether it still waits: it is broken, as natively.
func (p *Programs) Waiting(of *join.Spec, why join.Reason, at event.Time, fn func(*event.Event)) {
	lefts, streams := p.Image.Lefts()
	shows, index := map[uint64]*sent.Lefts{}, -1
	for i := range lefts {
		if l := &lefts[i]; l.Join == any(of) {
			shows[uint64(l.Event)], index = sent.NewLefts(l, p.Streams[streams[i]],
				p.Events[l.Event]), l.Index
		}
	}
	if index < 0 {
		return
	}
	var all [][]byte
	read := load.Waiting
	if why == join.Evicted {
		read = load.GivenUp
	}
	err := read(p.Run, index, func(waits []byte) { all = append(all, bytes.Clone(waits)) })
	if err != nil {
		p.Failed(err)
	}
	if n := load.Misses(p.Run); n > p.missed {
		p.missed, p.until = n, p.Now()
	}
	began := func(waits []byte) uint64 { return binary.LittleEndian.Uint64(waits) }
	slices.SortFunc(all, func(a, b []byte) int { return cmp.Compare(began(a), began(b)) })
	for _, waits := range all {
		e := event.Event{Time: max(at, event.Time(began(waits))), Ring: -1}
		age := uint64(e.Time) - began(waits)
		s := shows[binary.LittleEndian.Uint64(waits[8:])-1]
		reason := why
		if event.Time(began(waits)) <= p.until {
			reason = join.Broken
		}
		if s != nil && s.Waiting(&e, waits, uint64(reason), age) {
			fn(&e)
			s.Release()
		}
	}
}
